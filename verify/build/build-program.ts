/**
 * Builds the program that `smstwin` runs, and its dashboard, into a folder of the checkout: for the
 * package, and for tests that start processes.
 */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { builtPage } from '#io/page-files.ts';
import { options, root } from './bundle-options.ts';

/** The ways in by output name, without those of a tool that was deleted. */
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

/** Builds a program that runs in a checkout. Resolves to the paths of its sources. */
export async function buildForCheckout(
  folder: string,
  otherEntries: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const entries = { ...otherEntries, 'page-builder': 'page/build/bundle.ts' };
  const { metafile } = await buildProgram(`${folder}/dist`, entries);
  // The program reads its version there.
  cpSync(`${root}package.json`, `${root}${folder}/package.json`);
  // The page declares all operations, which load much faster from the program.
  const builder = `${root}${folder}/dist/page-builder.js`;
  const builderOfPage = existsSync(builder) ? (await import(builder)).bundleDashboard : builtPage;
  const ofPage = await buildDashboard(`${folder}/dist`, builderOfPage);
  return [...Object.keys(metafile.inputs), ...ofPage.map((path) => relative(root, path))];
}

/** Resolves to the paths of the sources that it has bundled. */
export async function buildDashboard(folder: string, build = builtPage): Promise<string[]> {
  const sources: string[] = [];
  const page = `${root}page/`;
  const files = await build(
    (paths) => sources.push(...paths.map((path) => resolve(page, path))),
    pathToFileURL(page),
  );
  mkdirSync(`${root}${folder}/dashboard`, { recursive: true });
  for (const { name, bytes } of files) writeFileSync(`${root}${folder}/dashboard/${name}`, bytes);
  return sources;
}
