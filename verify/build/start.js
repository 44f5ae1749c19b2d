/**
 * `npm start` in a checkout: bundles the sources, then runs them. That takes a third of the time
 * in which tsx loads them one by one. The bundle is made anew at each start, so it is never stale.
 * Its files are named by their content, so several starts at once do not disturb each other.
 */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = join(root, 'build', 'start');
/** A process may load a part of its bundle late; files that no start has used so long are removed. */
const keptMs = 7 * 86_400_000;

/** Makes each source see its own address, as it finds other files by that. */
const inPlace = {
  name: 'in place',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        // The sources of the page are part of the bundle, as Node cannot load them.
        .replace('import(bundle.href)', "import('#page/build/bundle.ts')");
      return { contents, loader: 'ts' };
    });
  },
};

const { outputFiles } = await build({
  absWorkingDir: root,
  entryPoints: ['cli/main.ts'],
  outdir: folder,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  write: false,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  plugins: [inPlace],
  logLevel: 'warning',
});
mkdirSync(folder, { recursive: true });
const used = new Set(outputFiles.map(({ path }) => basename(path)));
for (const name of readdirSync(folder)) {
  const path = join(folder, name);
  if (!used.has(name) && Date.now() - statSync(path).mtimeMs > keptMs)
    rmSync(path, { force: true });
}
for (const { path, contents } of outputFiles) {
  const part = `${path}.${process.pid}`;
  writeFileSync(part, contents);
  renameSync(part, path);
}
const main = outputFiles.find(({ path }) => basename(path).startsWith('main-'));
await import(pathToFileURL(main?.path ?? '').href);
