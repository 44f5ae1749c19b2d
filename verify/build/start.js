/**
 * `npm start` in a checkout: runs a bundle of the sources, which takes a fifth of the time in which
 * tsx loads them one by one. Makes the bundle anew if any file in it has changed.
 */
import fs from 'node:fs';

const root = new URL('../../', import.meta.url);
const folder = new URL('build/start/', root);
/** When the last bundle was started, its path, and those of its sources. */
const record = new URL('bundle.json', folder);
/** A process may load a part of an old bundle late: after this time, the next build removes it. */
const keptMs = 7 * 86_400_000;

/** The bundle, unless a source has changed since it was started. */
function current() {
  try {
    const { startedMs, path, sources } = JSON.parse(fs.readFileSync(record, 'utf8'));
    // Not `mtimeMs`: an older file that takes the place of another one keeps that.
    const hasChanged = (source) => fs.statSync(new URL(source, root)).ctimeMs >= startedMs;
    return sources.some(hasChanged) ? undefined : path;
  } catch {
    // There is no bundle, or a source was removed.
    return undefined;
  }
}

async function built() {
  const nowMs = Date.now();
  const name = `${nowMs}-${process.pid}`;
  fs.mkdirSync(new URL(name, folder), { recursive: true });
  // By the clock of the file system, which may be that of another machine.
  const startedMs = fs.statSync(new URL(name, folder)).ctimeMs;
  // As deep as its source, which finds the root from there. tsx would take three times as long.
  const builder = `build/start/${name}.js`;
  const { build } = await import('esbuild');
  const { metafile } = await build({
    absWorkingDir: root.pathname,
    entryPoints: ['verify/build/build-program.ts'],
    outfile: builder,
    bundle: true,
    metafile: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  });
  const { buildForCheckout } = await import(new URL(builder, root).href);
  const path = `build/start/${name}/dist/main.js`;
  const bundled = await buildForCheckout(`build/start/${name}`);
  // esbuild also names texts that are no files.
  const isFile = (source) => fs.existsSync(new URL(source, root));
  const ofBuild = [...Object.keys(metafile.inputs), 'verify/build/start.js', 'package.json'];
  const sources = [...ofBuild, ...bundled.filter(isFile)];
  for (const entry of fs.readdirSync(folder)) {
    if (nowMs - Number.parseInt(entry, 10) > keptMs) {
      fs.rmSync(new URL(entry, folder), { recursive: true, force: true });
    }
  }
  fs.writeFileSync(record, JSON.stringify({ startedMs, path, sources }));
  return path;
}

await import(new URL(current() ?? (await built()), root).href);
