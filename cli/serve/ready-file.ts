/**
 * `--ready-file`: writes URLs, keys and numbers for the script that started the simulator. The file
 * appears complete, so a script needs only wait until it exists.
 */
import { randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  lstatSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { UsageError } from '#io/command-error.ts';
import type { CommandIo } from '#io/flags.ts';
import type { ReadyFile } from '#src/simulator.ts';
import { banner } from './banner.ts';
import type { ServeOptions } from './serve-options.ts';

/** Removes the file of an earlier run. Throws a UsageError if the path cannot be written. */
export function prepareReadyFile(path: string): void {
  try {
    // A device, pipe or link is not an earlier ready file and must not be replaced.
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === false) {
      throw new UsageError(`--ready-file ${path}: not a plain file; name another path`);
    }
    accessSync(dirname(resolve(path)), constants.W_OK);
    rmSync(path, { force: true });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `--ready-file ${path}: cannot be written; check that its folder exists and is writable`,
    );
  }
}

/** Writes the file. Throws a UsageError and leaves nothing behind if that fails. */
export function writeReadyFile(path: string, content: unknown): void {
  writeWhole(path, `${JSON.stringify(content, null, 2)}\n`, '--ready-file');
}

/** Writes the CA certificate and the ready file, if they are asked for, and prints the banner. */
export function announce(ready: ReadyFile, options: ServeOptions, io: CommandIo): void {
  const { tls, readyFile } = options;
  const served =
    tls?.ca === undefined ? ready : { ...ready, tls_ca_file: writeAuthority(tls.ca, readyFile) };
  if (readyFile !== undefined) writeReadyFile(readyFile, served);
  io.out(banner(served, options, io));
}

/**
 * Writes the certificate that clients must trust next to the ready file; without one, into a
 * private folder that is removed when the process ends. Returns its path. Throws a UsageError.
 */
export function writeAuthority(ca: string, readyFile: string | undefined): string {
  const path = readyFile === undefined ? join(temporaryFolder(), 'ca.pem') : `${readyFile}.ca.pem`;
  writeWhole(resolve(path), ca, 'the certificate of --tls self-signed');
  return resolve(path);
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

/** `what`: the file, as an error names it. */
function writeWhole(path: string, text: string, what: string): void {
  // A random name, so that no other program can put a link there before.
  const unfinished = `${path}.${randomUUID()}.tmp`;
  try {
    // The ready file holds full keys: only its owner may read it.
    writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx' });
    renameSync(unfinished, path);
  } catch (error) {
    removeIfAny(unfinished);
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new UsageError(`${what} ${path}: cannot be written (${code})`);
  }
}

function removeIfAny(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The folder does not exist or cannot be read, so nothing was written.
  }
}
