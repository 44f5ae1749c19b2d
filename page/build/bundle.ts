/**
 * Builds the page's files with esbuild, in memory: a checkout serves them, the package's build
 * writes them to disk. esbuild is a development dependency, so an installed package must not call
 * this.
 */
import { readFileSync } from 'node:fs';
import { statusTexts } from '#src/http/transport/transport-replies.ts';
import { shownOperations } from '../lists.ts';
import { declaredOperations } from './declared.ts';

export interface DashboardFile {
  /** The name below `/assets/`; the page itself is `index.html`. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Calls `onSources` with the path of every file in the bundle, for the licence notices. */
export async function bundleDashboard(
  onSources: (paths: readonly string[]) => void = () => {},
): Promise<DashboardFile[]> {
  const { build } = await import('esbuild');
  const page = new URL('../', import.meta.url);
  const declared = JSON.stringify(declaredOperations(shownOperations));
  const { outputFiles, metafile } = await build({
    absWorkingDir: page.pathname,
    entryPoints: { page: 'main.tsx', 'events-worker': 'events-worker.ts', style: 'style.css' },
    outdir: '/assets',
    chunkNames: '[name]-[hash]',
    write: false,
    metafile: true,
    bundle: true,
    // The page and the worker share chunks.
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    define: { declaredOperations: declared, statusTexts: JSON.stringify(statusTexts) },
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
    legalComments: 'none',
    logLevel: 'warning',
  });
  onSources(Object.keys(metafile.inputs));
  return [
    { name: 'index.html', bytes: readFileSync(new URL('index.html', page)) },
    ...outputFiles.map(({ path, contents }) => ({
      name: path.slice(path.lastIndexOf('/') + 1),
      bytes: contents,
    })),
  ];
}
