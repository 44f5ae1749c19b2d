/**
 * Builds the page's files with esbuild, in memory: a checkout serves them, the package's build
 * writes them to disk. esbuild is a development dependency, so an installed package must not call
 * this.
 */
import { readFileSync } from 'node:fs';
import { statusTexts } from '#src/http/transport/outlet.ts';
import { declaredOperations } from './declared.ts';

const plots = '../judging/report/plot/';

/** `name`: below `/assets/`; the page itself is `index.html`. */
export type DashboardFile = Readonly<{ name: string; bytes: Uint8Array }>;

/** Calls `onSources` with the path of every file in the bundle. `page`: the folder of its sources. */
export async function bundleDashboard(
  onSources: (paths: readonly string[]) => void = () => {},
  page = new URL('../', import.meta.url),
): Promise<DashboardFile[]> {
  const { build } = await import('esbuild');
  const declared = JSON.stringify(declaredOperations());
  const examples = Object.fromEntries(
    ['Node', 'Python', 'Go'].map((language) => {
      const file = new URL(`examples/${language.toLowerCase()}.txt`, page);
      return [language, readFileSync(file, 'utf8').trimEnd()];
    }),
  );
  const shared = {
    absWorkingDir: page.pathname,
    outdir: '/assets',
    write: false,
    metafile: true,
    bundle: true,
    target: 'es2022',
    minify: true,
    tsconfigRaw: {},
    legalComments: 'none',
    logLevel: 'warning',
  } as const;
  const built = await Promise.all([
    build({
      ...shared,
      entryPoints: { page: 'main.tsx', 'events-worker': 'events-worker.ts', style: 'style.css' },
      chunkNames: '[name]-[hash]',
      // The page and the worker share chunks.
      splitting: true,
      format: 'esm',
      define: {
        declaredOperations: declared,
        examples: JSON.stringify(examples),
        statusTexts: JSON.stringify(statusTexts),
      },
      jsx: 'automatic',
      jsxImportSource: 'preact',
    }),
    // What an HTML report holds; each is one file.
    build({
      ...shared,
      entryPoints: { plot: `${plots}report-script.ts`, 'plot-style': `${plots}plot.css` },
    }),
  ]);
  const outputFiles = built.flatMap((each) => each.outputFiles);
  onSources(built.flatMap(({ metafile }) => Object.keys(metafile.inputs)));
  return [
    { name: 'index.html', bytes: readFileSync(new URL('index.html', page)) },
    ...outputFiles.map(({ path, contents }) => ({
      name: path.slice(path.lastIndexOf('/') + 1),
      bytes: contents,
    })),
  ];
}
