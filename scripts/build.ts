/**
 * Builds what the package ships: `dist/*.js` by esbuild, `dist/types` by the TypeScript compiler.
 * HyperExpress is bundled together with our shim for its native part, because its own dependency on that part
 * is a git address, which only an `overrides` entry of the user's could turn away.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { bundleDashboard } from '../src/dashboard/bundle.ts';

const root = new URL('../', import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

rmSync(`${root}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: {
    main: 'src/main.ts',
    simulator: 'src/simulator.ts',
    vitest: 'src/vitest.ts',
    // The bench starts its servers in processes of their own.
    'bench-server': 'bench/servers/child.ts',
  },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: [
    ...Object.keys(manifest.dependencies),
    ...Object.keys(manifest.optionalDependencies),
    'vitest',
    // Only a checkout makes the dashboard when it is asked for.
    'esbuild',
  ],
  alias: { 'uWebSockets.js': './src/http/transport/uws/index.cjs' },
  // HyperExpress is CommonJS and asks for Node's modules by `require`.
  banner: {
    js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
  },
  legalComments: 'none',
  logLevel: 'warning',
});
mkdirSync(`${root}dist/dashboard`);
for (const { name, bytes } of await bundleDashboard()) {
  writeFileSync(`${root}dist/dashboard/${name}`, bytes);
}
execFileSync(
  process.execPath,
  [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json'],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
