/**
 * How esbuild bundles the program, for the package and for the executable. All packages are
 * bundled, because a few files load faster than hundreds.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { builtPage } from '#io/shipped-files.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

/** Makes the bundle smaller and faster to load, without other effects. */
const lean: Plugin = {
  name: 'lean',
  setup: ({ onLoad }) => {
    // Inserts the table of phone numbers as JSON text: Node reads it faster than an object literal.
    onLoad({ filter: /metadata\.max\.json\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const table = source.slice(source.indexOf('{'), source.lastIndexOf('}') + 1);
      const text = JSON.stringify(JSON.stringify(JSON.parse(table)));
      return { contents: `export default JSON.parse(${text})`, loader: 'js' };
    });
    // esbuild drops unused parts of a namespace, but not of the object `z` with fifty languages.
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (path.includes('/node_modules/')) return undefined;
      const source = readFileSync(path, 'utf8');
      const contents = source.replace("import { z } from 'zod';", "import * as z from 'zod';");
      return { contents, loader: 'ts' };
    });
  },
};

/** The options of a CommonJS bundle. `path`: an expression for the path of the bundle. */
export const asCommonJs = (path: string) =>
  ({
    format: 'cjs',
    define: { 'import.meta.url': 'urlOfBundle', 'import.meta.resolve': 'undefined' },
    banner: { js: `const urlOfBundle = require('node:url').pathToFileURL(${path}).href;` },
  }) satisfies BuildOptions;

export const options = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  // Half of the start is compiling the loaded code. Names stay readable in stack traces.
  minifySyntax: true,
  minifyWhitespace: true,
  plugins: [lean],
  external: [
    ...Object.keys(manifest.optionalDependencies),
    'vitest',
    // Only a checkout builds the dashboard on demand.
    'esbuild',
  ],
  alias: {
    'uWebSockets.js': './src/http/transport/uws/index.cjs',
    'mime-types': './verify/build/no-mime-types.cjs',
  },
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions;

/** The entry files by output name, without those of a tool that was deleted. */
export function existing(entries: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).filter(([, path]) => existsSync(root + path)));
}

/** `otherEntries`: what is built besides the program and `smstwin/clock`, by output name. */
export function buildProgram(folder: string, otherEntries: Readonly<Record<string, string>>) {
  return build({
    ...options,
    outdir: folder,
    entryPoints: { main: 'cli/main.ts', clock: 'src/testing/clock.ts', ...existing(otherEntries) },
    metafile: true,
    splitting: true,
    format: 'esm',
    // HyperExpress is CommonJS and loads Node's modules with `require`.
    banner: {
      js:
        "import { createRequire as createRequireOfBundle } from 'node:module'; " +
        'const require = createRequireOfBundle(import.meta.url);',
    },
  });
}

/** Resolves to the paths of the sources that it has bundled. */
export async function buildDashboard(folder: string): Promise<string[]> {
  const sources: string[] = [];
  const page = `${root}page/`;
  const files = await builtPage((paths) =>
    sources.push(...paths.map((path) => resolve(page, path))),
  );
  mkdirSync(`${root}${folder}/dashboard`, { recursive: true });
  for (const { name, bytes } of files) writeFileSync(`${root}${folder}/dashboard/${name}`, bytes);
  return sources;
}
