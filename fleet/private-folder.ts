/**
 * The temporary folder of a fleet, which holds the private key of HTTPS. The fleet listens on a
 * socket in it. Where nothing listens, a killed fleet has left the folder, and the next one of the
 * same user removes it; a process id would mean nothing to a fleet in another container.
 */
import { once } from 'node:events';
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { CommandError } from '#io/command-error.ts';
import { reasonOf } from '#io/plain-file.ts';

const prefix = 'smstwin-fleet-';
const socketIn = (folder: string) => join(folder, 'owner.sock');
/** The longest path of a socket on every system. Node cuts a longer one, and listens elsewhere. */
const mostSocketBytes = 103;

/** Returns its path, and what removes it. Throws a CommandError if it cannot be used. */
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

/** True if the socket of a fleet is there, and nothing listens on it. */
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
