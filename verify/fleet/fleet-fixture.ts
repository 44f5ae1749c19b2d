/**
 * A fleet for tests: the process, its control port, and HAProxy's maps as they are.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { loader, program } from '../testkit/program.ts';
import { bearer, sendPaths } from '../testkit/request.ts';
import { ServedProcess } from '../testkit/served-process.ts';

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

  /** Asks the control port; throws if the answer is not a success. */
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

  /** The entries of one of HAProxy's maps, as it routes by them. */
  async map(name: 'worlds' | 'keys' | 'held'): Promise<ReadonlyMap<string, string>> {
    const [folder = ''] = readdirSync(this.folder).filter((each) => each.startsWith('smstwin-'));
    const at = join(this.folder, folder);
    const shown = await runtime(join(at, 'haproxy.sock'), `show map ${join(at, `${name}.map`)}`);
    return new Map(
      shown
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

function runtime(path: string, command: string): Promise<string> {
  const socket = connect(path, () => socket.write(`${command}\n`));
  return text(socket);
}

/** A fleet that starts is ended. */
const endWithinMs = 20_000;

/** `smstwin fleet` until it ends. */
export function runFleet(flags: readonly string[], env: object = {}) {
  return spawnSync(process.execPath, [...loader, program, 'fleet', ...flags], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: endWithinMs,
  });
}

const accountCount = 12;

export const wideWorld = {
  accounts: Array.from({ length: accountCount }, (_, at) => ({
    name: `account-${at}`,
    keys: [{ name: 'one' }, { name: 'two' }],
    sims: at % 3 === 2 ? [] : [{ number: numberOf(at) }],
  })),
  pool: [{ number: '+12025550190' }],
};

function numberOf(at: number): string {
  return `+1202555010${at % 10}`.slice(0, 10) + String(10 + at).padStart(2, '0');
}
