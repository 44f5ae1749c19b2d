/**
 * Builds the program that `smstwin` runs, and its dashboard, into a folder of the checkout: for the
 * package, and for tests that start processes.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import { builtPage } from '#io/shipped-files.ts';
import { options, root } from './bundle-options.ts';

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
