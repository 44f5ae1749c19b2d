/**
 * Makes the page's files by esbuild: in memory for a checkout that serves them, on disk for the package.
 * esbuild is a development dependency, so only a checkout or the build may call this.
 */
import { readFileSync } from 'node:fs';

export interface DashboardFile {
  /** Its name below `/assets/`; the page itself is `index.html`. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export async function bundleDashboard(): Promise<DashboardFile[]> {
  const { build } = await import('esbuild');
  const page = new URL('page/', import.meta.url);
  const { outputFiles } = await build({
    absWorkingDir: page.pathname,
    entryPoints: { page: 'main.tsx', style: 'style.css' },
    outdir: '/assets',
    chunkNames: '[name]-[hash]',
    write: false,
    bundle: true,
    // The plots are a chunk of their own, which a page without them never asks for.
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
    legalComments: 'none',
    logLevel: 'warning',
  });
  return [
    { name: 'index.html', bytes: readFileSync(new URL('index.html', page)) },
    ...outputFiles.map(({ path, contents }) => ({
      name: path.slice(path.lastIndexOf('/') + 1),
      bytes: contents,
    })),
  ];
}
