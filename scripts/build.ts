/**
 * Builds what the package ships: `dist/*.js` by esbuild, `dist/types` by the TypeScript compiler.
 * All packages are bundled, because a few files load faster than hundreds. Zod is also a
 * dependency, because the types refer to it. HyperExpress is bundled with our replacement of its
 * native part: it depends on that part by a git address, which only an `overrides` entry of the
 * user could replace. `dist/THIRD-PARTY-NOTICES.txt` holds the licences of all bundled packages.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { bundleDashboard } from '../src/dashboard/bundle.ts';
import { thirdPartyNotices } from './notices.ts';
import { writePublicTypes } from './public-types.ts';

const root = new URL('../', import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

/** Makes the bundle smaller or faster to load, without other effects. */
const lean: Plugin = {
  name: 'lean',
  setup: ({ onLoad }) => {
    // The table of phone numbers as a JSON text: Node reads it faster than an object literal.
    onLoad({ filter: /metadata\.max\.json\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const table = source.slice(source.indexOf('{'), source.lastIndexOf('}') + 1);
      const text = JSON.stringify(JSON.stringify(JSON.parse(table)));
      return { contents: `export default JSON.parse(${text})`, loader: 'js' };
    });
    // esbuild keeps only the used parts of a namespace, but the whole object `z`, with fifty
    // languages.
    onLoad({ filter: /\/(?:src|bench|conformance)\/.*\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replace("import { z } from 'zod';", "import * as z from 'zod';");
      return { contents, loader: 'ts' };
    });
  },
};

/** Entries that `require` may load, too: Jest's projects are CommonJS. */
const required = {
  simulator: 'src/api.ts',
  explore: 'src/explore/explore.ts',
};

rmSync(`${root}dist`, { recursive: true, force: true });
const options = {
  absWorkingDir: root,
  outdir: 'dist',
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
    'mime-types': './src/http/transport/uws/no-mime-types.cjs',
  },
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions;
const { metafile } = await build({
  ...options,
  entryPoints: {
    ...required,
    main: 'src/main.ts',
    vitest: 'src/testing/vitest.ts',
    clock: 'src/testing/clock.ts',
    // The bench starts its servers in child processes.
    'bench-server': 'bench/servers/child.ts',
  },
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
// esbuild splits only ES modules, so that here one file holds what all entries share.
const [names, paths] = [Object.keys(required), Object.values(required)];
await build({
  ...options,
  stdin: {
    contents: paths.map((path, at) => `export * as ${names[at]} from './${path}';`).join('\n'),
    resolveDir: root,
  },
  entryNames: 'commonjs',
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  define: { 'import.meta.url': 'urlOfBundle' },
  banner: { js: "const urlOfBundle = require('node:url').pathToFileURL(__filename).href;" },
});
for (const name of names) {
  const text = `module.exports = require('./commonjs.cjs').${name};\n`;
  writeFileSync(`${root}dist/${name}.cjs`, text);
}
mkdirSync(`${root}dist/dashboard`);
const sources = Object.keys(metafile.inputs).map((path) => `${root}${path}`);
const page = `${root}src/dashboard/page/`;
const files = await bundleDashboard((paths) =>
  sources.push(...paths.map((path) => resolve(page, path))),
);
for (const { name, bytes } of files) writeFileSync(`${root}dist/dashboard/${name}`, bytes);
writeFileSync(`${root}dist/THIRD-PARTY-NOTICES.txt`, thirdPartyNotices(sources));
execFileSync(
  process.execPath,
  [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json'],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
writePublicTypes(`${root}dist/types`);
// The same declarations for CommonJS: TypeScript takes the kind of module from this manifest.
cpSync(`${root}dist/types`, `${root}dist/types-of-commonjs`, { recursive: true });
writeFileSync(`${root}dist/types-of-commonjs/package.json`, '{ "type": "commonjs" }\n');
