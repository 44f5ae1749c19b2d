/**
 * Builds what the package ships: `dist/*.js` by esbuild, `dist/types` by the TypeScript compiler.
 * All packages are bundled, because a few files load faster than hundreds. Zod is also a
 * dependency, because the types refer to it. HyperExpress is bundled with our replacement of its
 * native part: it depends on that part by a git address, which only an `overrides` entry of the
 * user could replace. `dist/THIRD-PARTY-NOTICES.txt` holds the licences of all bundled packages.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import { bundleDashboard } from '../src/dashboard/bundle.ts';
import { asCommonJs, options, root } from './bundle-options.ts';
import { thirdPartyNotices } from './notices.ts';
import { writePublicTypes } from './public-types.ts';

/** Entries that `require` may load, too: Jest's projects are CommonJS. */
const required = {
  simulator: 'src/api.ts',
  explore: 'src/explore/explore.ts',
};

rmSync(`${root}dist`, { recursive: true, force: true });
const { metafile } = await build({
  ...options,
  outdir: 'dist',
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
  outdir: 'dist',
  stdin: {
    contents: paths.map((path, at) => `export * as ${names[at]} from './${path}';`).join('\n'),
    resolveDir: root,
  },
  entryNames: 'commonjs',
  outExtension: { '.js': '.cjs' },
  ...asCommonJs('__filename'),
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
