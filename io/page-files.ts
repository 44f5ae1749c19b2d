/**
 * The files of the page and of the plots in reports. A checkout builds them when they are first
 * asked for; a package has them in `dist/dashboard/`.
 */
import { existsSync } from 'node:fs';
import { shippedFile, shippedNames } from './shipped-files.ts';

/** As `page/build/bundle.ts` makes it. */
export interface PageFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export async function pageFiles(): Promise<readonly PageFile[]> {
  if (import.meta.url.endsWith('.ts')) return builtPage();
  return shippedNames('dashboard').map((name) => ({
    name,
    bytes: shippedFile(`dashboard/${name}`),
  }));
}

/** `npm start` (`verify/build/start.js`) loads it from its own bundle. */
export const pageBuilder = { load: (address: string) => import(address) };

/**
 * The page of this checkout, built anew; no file if its room was deleted. No other room knows the
 * page, so its address is computed. `onSources` is called with the paths of the bundled files.
 */
export async function builtPage(
  onSources?: (paths: readonly string[]) => void,
): Promise<readonly PageFile[]> {
  const page = new URL('../page/', import.meta.url);
  const bundle = new URL('build/bundle.ts', page);
  if (!existsSync(bundle)) return [];
  return (await pageBuilder.load(bundle.href)).bundleDashboard(onSources, page);
}
