/**
 * A fleet for tests: starts the process, sends requests to the service and to the control port, and
 * reads the maps by which HAProxy routes them.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { loader, program } from '../testkit/processes/program.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { bearer, sendPaths } from '../testkit/twin/request.ts';

export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers: Headers;
}

export class FleetFixture {
  readonly folder: string;
  readonly served: ServedProcess;

  private constructor(folder: string, served: ServedProcess) {
    this.folder = folder;
    this.served = served;
  }

  static async start(flags: readonly string[]): Promise<FleetFixture> {
    const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
    const served = await ServedProcess.startFleet(folder, flags, { TMPDIR: folder });
    return new FleetFixture(folder, served);
  }

  async stop(): Promise<void> {
    await this.served.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Sends a request to the control port. Throws if the reply is not a success. */
  async operate<T>(method: string, path: string, body?: unknown): Promise<T> {
    const reply = await this.control(method, path, body);
    if (reply.status < 300) return (reply.body === '' ? undefined : JSON.parse(reply.body)) as T;
    throw new Error(`${method} ${path}: ${reply.status} ${reply.body}`);
  }

  control(method: string, path: string, body?: unknown): Promise<Reply> {
    const json = body === undefined ? null : JSON.stringify(body);
    return ask(`${this.served.controlUrl}${path}`, { method, body: json });
  }

  get(path: string, key?: string, headers: Record<string, string> = {}): Promise<Reply> {
    return ask(`${this.served.baseUrl}${path}`, { headers: { ...authorization(key), ...headers } });
  }

  send(key: string, fields: object, base = this.served.baseUrl): Promise<Reply> {
    return ask(`${base}${sendPaths.send}`, {
      method: 'POST',
      headers: { ...authorization(key), 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from: '+12025550101', message: 'Hi', ...fields }),
    });
  }

  async map(name: 'worlds' | 'keys' | 'held'): Promise<ReadonlyMap<string, string>> {
    const [folder = ''] = readdirSync(this.folder).filter((entry) => entry.startsWith('smstwin-'));
    const haproxyFolder = join(this.folder, folder);
    const lines = await askHaproxy(join(haproxyFolder, 'haproxy.sock'), `show map ${name}.map`);
    return new Map(
      lines
        .trim()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const [, key = '', value = ''] = line.split(' ');
          return [key, value];
        }),
    );
  }
}

function authorization(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: bearer(key) };
}

export async function ask(url: string, init: RequestInit): Promise<Reply> {
  const reply = await fetch(url, init);
  return { status: reply.status, body: await reply.text(), headers: reply.headers };
}

/** The answer of HAProxy's runtime API to a command. */
function askHaproxy(socketPath: string, command: string): Promise<string> {
  const socket = connect(socketPath, () => socket.write(`${command}\n`));
  return text(socket);
}

/** A fleet that starts instead of refusing its flags is ended after this time. */
const endWithinMs = 20_000;

export function runFleet(flags: readonly string[], env: object = {}) {
  return spawnSync(process.execPath, [...loader, program, 'fleet', ...flags], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: endWithinMs,
  });
}

const accountCount = 12;

/** A world with many accounts, which a fleet spreads over its shards. */
export const wideWorld = {
  accounts: Array.from({ length: accountCount }, (_, index) => ({
    name: `account-${index}`,
    keys: [{ name: 'one' }, { name: 'two' }],
    sims: index % 3 === 2 ? [] : [{ number: numberOf(index) }],
  })),
  pool: [{ number: '+12025550190' }],
};

function numberOf(index: number): string {
  return `+120255501${10 + index}`;
}
