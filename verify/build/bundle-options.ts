/**
 * How esbuild bundles the program, for the package and for the executable. All packages are
 * bundled, because a few files load faster than hundreds.
 */
import { readFileSync } from 'node:fs';
import type { BuildOptions, Plugin } from 'esbuild';

export const root = new URL('../../', import.meta.url).pathname;
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
