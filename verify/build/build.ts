/**
 * Builds what the package ships: `dist/*.js` by esbuild, `dist/types` by the TypeScript compiler.
 * All packages are bundled, because a few files load faster than hundreds. Zod is also a
 * dependency, because the types refer to it. HyperExpress is bundled with our replacement of its
 * native part: it depends on that part by a git address, which only an `overrides` entry of the
 * user could replace. `dist/THIRD-PARTY-NOTICES.txt` holds the licences of all bundled packages.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import {
  asCommonJs,
  buildDashboard,
  buildProgram,
  existing,
  options,
  root,
} from './bundle-options.ts';
import { thirdPartyNotices } from './notices.ts';
import { keepReachable, writePublicTypes } from './public-types.ts';

/** The entries that `require` can load, too, since most projects with Jest are CommonJS. */
const commonJsEntries = existing({
  simulator: 'src/api.ts',
  explore: 'explore/explore.ts',
  audit: 'audit/audit.ts',
});

rmSync(`${root}dist`, { recursive: true, force: true });
const { metafile } = await buildProgram('dist', {
  ...commonJsEntries,
  vitest: 'src/testing/vitest.ts',
  // The bench starts its servers in child processes.
  'bench-server': 'bench/servers/child.ts',
});
// esbuild splits only ES modules, so one CommonJS file holds all entries.
const [names, paths] = [Object.keys(commonJsEntries), Object.values(commonJsEntries)];
await build({
  ...options,
  outdir: 'dist',
  stdin: {
    contents: paths
      .map((path, index) => `export * as ${names[index]} from './${path}';`)
      .join('\n'),
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
const sources = [
  ...Object.keys(metafile.inputs).map((path) => `${root}${path}`),
  ...(await buildDashboard('dist')),
];
writeFileSync(`${root}dist/THIRD-PARTY-NOTICES.txt`, thirdPartyNotices(sources));
// On several threads it checks shared types several times, which takes more than twice the CPU.
const tsc = [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json'];
execFileSync(process.execPath, [...tsc, '--singleThreaded'], { cwd: root, stdio: 'inherit' });
writePublicTypes(`${root}dist/types`);
const { exports: shipped } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const entries = JSON.stringify(shipped).matchAll(/dist\/types\/([^"]+)/g);
keepReachable(
  `${root}dist/types`,
  Array.from(entries, ([, path = '']) => path),
);
// The same declarations for CommonJS: TypeScript takes the kind of module from this manifest.
cpSync(`${root}dist/types`, `${root}dist/types-of-commonjs`, { recursive: true });
writeFileSync(`${root}dist/types-of-commonjs/package.json`, '{ "type": "commonjs" }\n');
