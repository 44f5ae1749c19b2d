/**
 * The files of a fleet, which only its user can read: files with state for its next start, and a
 * temporary folder that it removes at its end. The state file `fleet.json` has the settings that
 * must be equal at the next start; the shards compare all others with their journals.
 */
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { CommandError, UsageError } from '#io/command-error.ts';
import { type OwnKind, ownerOnly, writeOwn } from '#io/own-file.ts';
import { parseJson, readGiven, reasonOf } from '#io/plain-file.ts';

const stateKind: OwnKind = { name: 'file of a fleet', isOwn: (start) => /^[[{]/.test(start) };

/** Reads a state file; undefined if there is none. Throws a UsageError if it is torn or foreign. */
export function readState<T>(file: string, schema: z.ZodType<T>): T | undefined {
  if (!existsSync(file)) return undefined;
  const { data } = schema.safeParse(parseJson(file, readGiven(file, '--journal-dir')));
  if (data !== undefined) return data;
  throw new UsageError(`${file}: not a file of this fleet; restore it, or name a new folder`);
}

export function writeState(file: string, state: unknown): void {
  writeOwn({ path: file, kind: stateKind, mode: ownerOnly }, JSON.stringify(state));
}

const layoutSchema = z.strictObject({ shards: z.int(), wide: z.boolean() });
type Layout = Readonly<z.output<typeof layoutSchema>>;

/** Throws a UsageError if a fleet of another layout has written the folder of journals. */
export function refuseOtherLayout(journalDir: string, { shards, wide }: Layout): void {
  const file = join(journalDir, 'fleet.json');
  const earlier = readState(file, layoutSchema);
  if (earlier === undefined) return;
  const differences: string[] = [];
  if (earlier.shards !== shards) differences.push(`with --shards ${earlier.shards}`);
  if (earlier.wide !== wide) differences.push(`${earlier.wide ? 'with' : 'without'} --wide`);
  if (differences.length === 0) return;
  const found = `recorded ${differences.join(' and ')}`;
  throw new UsageError(`${file}: ${found}; start with the same settings, or name a new folder`);
}

export function saveLayout(journalDir: string, layout: Layout): void {
  mkdirSync(journalDir, { recursive: true, mode: 0o700 });
  writeState(join(journalDir, 'fleet.json'), layout);
}

const prefix = 'smstwin-fleet-';
const socketIn = (folder: string) => join(folder, 'owner.sock');
/** The longest path of a socket on every system. Node cuts a longer one, and listens elsewhere. */
const mostSocketBytes = 103;

/**
 * Creates the temporary folder of a fleet, which holds the private key of HTTPS. The fleet listens
 * on a socket in it. If nothing listens there, a killed fleet has left it, and the next fleet of
 * the same user removes it; a process id means nothing in another container. Returns the path, and
 * a function that removes the folder. Throws a CommandError if none can be used.
 */
export async function createPrivateFolder() {
  const owner = createServer((socket) => socket.destroy()).unref();
  try {
    const longest = join(tmpdir(), `${prefix}XXXXXX`, 'haproxy.sock');
    if (Buffer.byteLength(longest) > mostSocketBytes) throw new Error('its path is too long');
    await removeLeftFolders();
    const path = mkdtempSync(join(tmpdir(), prefix));
    await once(owner.listen(socketIn(path)), 'listening');
    const remove = () => {
      owner.close();
      rmSync(path, { recursive: true, force: true });
    };
    return { path, remove };
  } catch (error) {
    const why = `${tmpdir()} cannot hold a fleet's files (${reasonOf(error)})`;
    throw new CommandError(3, `${why}: set TMPDIR to a short path that may be written`);
  }
}

async function removeLeftFolders(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(prefix))) {
    const folder = join(tmpdir(), name);
    const isOwn = lstatSync(folder, { throwIfNoEntry: false })?.uid === userInfo().uid;
    if (isOwn && (await isLeft(folder))) rmSync(folder, { recursive: true, force: true });
  }
}

/** True if the folder has the socket of a fleet, and nothing listens on it. */
async function isLeft(folder: string): Promise<boolean> {
  const socket = connect(socketIn(folder));
  try {
    await once(socket, 'connect');
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}
