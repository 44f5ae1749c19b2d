/**
 * `--ready-file`: writes URLs, keys and numbers for the script that started the simulator, and the
 * certificate of `--tls self-signed`. A file appears complete, so a script needs only wait until it
 * exists.
 */
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { UsageError } from '#io/command-error.ts';
import {
  type OwnFile,
  type OwnKind,
  obstacleTo,
  ownerOnly,
  removeOwn,
  writeOwn,
} from '#io/own-file.ts';
import type { ReadyFile } from '#src/simulator.ts';

const readyKind: OwnKind = {
  name: 'ready file',
  isOwn: (start) => /^\{\s*"base_url":\s*"[^"]*",\s*"control_url":\s*[^,]*,\s*"pid":/.test(start),
};
const authorityKind: OwnKind = { name: 'certificate', isOwn: isAuthority };

/** Removes the file of an earlier run. Throws a UsageError if the path cannot be written. */
export function prepareReadyFile(path: string): void {
  const obstacle = obstacleTo(path, readyKind);
  if (obstacle !== undefined) throw new UsageError(`--ready-file ${path}: ${obstacle}`);
  removeOwn(path, readyKind);
}

/** Writes the file, and removes it when the process ends. Throws a CommandError. */
export function writeReadyFile(path: string, content: ReadyFile): void {
  const file = { what: `--ready-file ${path}`, path, kind: readyKind };
  writeUntilExit(file, `${JSON.stringify(content, null, 2)}\n`);
}

/**
 * Writes the certificate that clients must trust next to the file of this name; without one, into a
 * private folder. Both are removed when the process ends. Returns its path. Throws a CommandError.
 */
export function writeAuthority(ca: string, nextTo: string | undefined): string {
  const path = resolve(
    nextTo === undefined ? join(temporaryFolder(), 'ca.pem') : `${nextTo}.ca.pem`,
  );
  const what = `the certificate of --tls self-signed ${path}`;
  writeUntilExit({ what, path, kind: authorityKind }, ca);
  return path;
}

/** True for the certificate of an authority that `--tls self-signed` made. */
function isAuthority(start: string): boolean {
  try {
    return new X509Certificate(start).subject.startsWith('CN=smstwin ');
  } catch {
    return false;
  }
}

function temporaryFolder(): string {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'smstwin-ca-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    return folder;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const where = `${tmpdir()} cannot be written (${code})`;
    throw new UsageError(`--tls self-signed: ${where}; say where with --ready-file`);
  }
}

/** Only its owner may read the file: it may hold full keys. */
function writeUntilExit(file: OwnFile, text: string): void {
  const { path, kind } = file;
  writeOwn({ ...file, mode: ownerOnly }, text);
  process.once('exit', () => {
    try {
      // Another process may have replaced it by its own.
      if (readFileSync(path, 'utf8') === text) removeOwn(path, kind);
    } catch {
      // It was removed, moved or replaced.
    }
  });
}
