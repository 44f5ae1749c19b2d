/**
 * Installs the compared servers into their own folders outside the project. A pinned version that
 * is already there is reused; the project itself is packed again each time.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { startChild } from './children.ts';
import { type Contender, type PinnedPackage, projectRoot } from './contenders.ts';

export interface Installed {
  readonly folder: string;
  /** Its working directory; `npm start` runs in the project. */
  readonly cwd: string;
  readonly version: string;
  readonly nodeModulesBytes: number | undefined;
}

export async function install({ from }: Contender, parent: string): Promise<Installed> {
  if (from === 'sources') {
    const folder = newFolder(join(parent, 'smstwin-sources'));
    const { version } = readManifest(projectRoot);
    return { folder, cwd: projectRoot, version, nodeModulesBytes: undefined };
  }
  if (from === 'packed') return installPacked(newFolder(join(parent, 'smstwin')));
  const folder = newFolder(join(parent, from.package.replaceAll(/[@/]+/g, '-').replace(/^-/, '')));
  if (installedVersion(folder, from.package) !== from.version) {
    await npm(['install', ...quiet, '--save-exact', `${from.package}@${from.version}`], folder);
  }
  return installed(folder, from);
}

const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];

async function installPacked(folder: string): Promise<Installed> {
  const { version } = readManifest(projectRoot);
  const file = join(folder, `smstwin-${version}.tgz`);
  await npm(['pack', '--silent', '--pack-destination', folder], projectRoot, folder);
  // Sources change without a new version, so npm would keep the old package.
  for (const name of ['node_modules', 'package-lock.json']) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  await npm(['install', ...quiet, file], folder);
  return installed(folder, { package: 'smstwin', version });
}

function installed(folder: string, pinned: PinnedPackage): Installed {
  const version = installedVersion(folder, pinned.package);
  if (version !== pinned.version) {
    throw new Error(
      `${pinned.package}: expected version ${pinned.version}, installed is ${version ?? 'none'}`,
    );
  }
  return {
    folder,
    cwd: folder,
    version,
    nodeModulesBytes: diskBytes(join(folder, 'node_modules')),
  };
}

/** Has its own manifest, so that npm does not look for one in a parent folder. */
function newFolder(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  return folder;
}

function npm(argv: readonly string[], cwd: string, logFolder = cwd): Promise<void> {
  const errorFile = join(logFolder, 'npm-errors.log');
  return new Promise((resolve, reject) => {
    const child = startChild('npm', argv, { cwd, errorFile });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`npm ${argv.join(' ')}: ${readFileSync(errorFile, 'utf8').trim()}`));
    });
  });
}

function installedVersion(folder: string, name: string): string | undefined {
  const place = join(folder, 'node_modules', name);
  return existsSync(join(place, 'package.json')) ? readManifest(place).version : undefined;
}

function readManifest(folder: string): { readonly version: string } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
}

/** Disk usage, as `du` counts it. */
export function diskBytes(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).reduce(
    (sum, entry) => sum + lstatSync(join(entry.parentPath, entry.name)).blocks * 512,
    0,
  );
}
