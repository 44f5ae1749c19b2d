/**
 * The HAProxy process, and its runtime API over its stats socket: maps are changed without a reload.
 */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { CommandError, UsageError } from '../commands/command-error.ts';
import { pause } from './ask.ts';
import { Child } from './child.ts';
import {
  fileIn,
  type MapName,
  mapFile,
  mapNames,
  type RouterPlan,
  routerFiles,
} from './haproxy-config.ts';

export interface MapChange {
  readonly map: MapName;
  readonly key: string;
  /** Undefined: the entry goes. */
  readonly value: string | undefined;
}

/** A line of the runtime API, and its payload, is read in one buffer of HAProxy's. */
const changesAtOnce = 100;
const startWithinMs = 10_000;
const pauseMs = 20;
const stopWithinMs = 3_000;

const noHaproxy =
  'HAProxy is not on the PATH: install it (Debian, Ubuntu: apt-get install haproxy; macOS: brew install haproxy)';

/** Throws a UsageError if there is no HAProxy. */
export function findHaproxy(env: Readonly<Record<string, string | undefined>>): void {
  try {
    execFileSync('haproxy', ['-v'], { env, stdio: 'ignore' });
  } catch {
    throw new UsageError(noHaproxy);
  }
}

/** Writes the configuration, and the maps as they are. */
export function writeRouterFiles(plan: RouterPlan, maps: RouterMaps): void {
  const write = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600 });
  for (const [name, text] of Object.entries(routerFiles(plan))) write(fileIn(plan, name), text);
  for (const map of mapNames) {
    const lines = [...maps[map]].map(([key, value]) => `${key} ${value}\n`);
    write(mapFile(plan, map), lines.join(''));
  }
}

export type RouterMaps = Readonly<Record<MapName, Map<string, string>>>;

export class Haproxy {
  readonly #plan: RouterPlan;
  readonly #env: Readonly<Record<string, string>>;
  readonly #notice: (line: string) => void;
  /** What the maps hold; a process that starts reads it from files. */
  readonly maps: RouterMaps = { worlds: new Map(), keys: new Map(), held: new Map() };
  #child: Child | undefined;
  isStopping = false;
  /** True while it answers. */
  isReady = false;
  /** Changes are made one after another. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(
    plan: RouterPlan,
    env: Readonly<Record<string, string>>,
    notice: (line: string) => void,
  ) {
    this.#plan = plan;
    this.#env = env;
    this.#notice = notice;
  }

  /** Starts it, and starts it again whenever it ends. */
  async start(): Promise<void> {
    await this.#launch();
    void this.#watch();
  }

  /** Changes entries, and resolves once HAProxy routes by them. */
  change(changes: readonly MapChange[]): Promise<void> {
    const news = changes
      .filter(({ map, key, value }) => this.maps[map].get(key) !== value)
      .map((change) => ({ ...change, replaces: this.maps[change.map].has(change.key) }));
    for (const { map, key, value } of news) {
      if (value === undefined) this.maps[map].delete(key);
      else this.maps[map].set(key, value);
    }
    if (this.#child === undefined) return Promise.resolve();
    const done = this.#changing.then(() => this.#apply(news));
    this.#changing = done.catch(() => {});
    return done;
  }

  /** Requests that shards handle now. */
  async running(): Promise<number> {
    const rows = (await this.#command('show stat -1 4 -1')).trim().split('\n');
    const place = rows[0]?.split(',').indexOf('scur') ?? -1;
    return rows.slice(1).reduce((sum, row) => sum + Number(row.split(',')[place] ?? 0), 0);
  }

  /** Finishes the requests in flight. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.#child?.stop('SIGUSR1', stopWithinMs);
  }

  async #launch(): Promise<void> {
    const socket = fileIn(this.#plan, 'haproxy.sock');
    rmSync(socket, { force: true });
    writeRouterFiles(this.#plan, this.maps);
    const child = new Child({
      file: 'haproxy',
      argv: ['-db', '-q', '-f', fileIn(this.#plan, 'haproxy.cfg')],
      env: this.#env,
    });
    this.#child = child;
    const how = await child.until(() => this.#answers(), startWithinMs);
    if (how !== undefined) {
      throw new CommandError(3, `HAProxy did not start (${how}): ${child.lastLine ?? ''}`);
    }
    this.isReady = true;
  }

  async #watch(): Promise<void> {
    for (;;) {
      const how = await this.#child?.ended;
      this.isReady = false;
      if (this.isStopping) return;
      this.#notice(`HAProxy ended (${how}); starting it again`);
      try {
        await this.#launch();
      } catch (error) {
        this.#notice(error instanceof Error ? error.message : String(error));
        await pause(1_000);
      }
    }
  }

  async #answers(): Promise<boolean> {
    try {
      return (await this.#send('show version\n')) !== '';
    } catch {
      return false;
    }
  }

  async #apply(changes: readonly (MapChange & { readonly replaces: boolean })[]): Promise<void> {
    for (const map of mapNames) {
      const file = mapFile(this.#plan, map);
      const own = changes.filter((change) => change.map === map);
      for (let at = 0; at < own.length; at += changesAtOnce) {
        const some = own.slice(at, at + changesAtOnce);
        // `add map` adds an entry even if the map has it.
        const removed = some.filter(({ replaces }) => replaces);
        const commands = removed.map(({ key }) => `del map ${file} ${key}`);
        if (commands.length > 0) await this.#command(commands.join('; '), true);
        const added = some.filter(({ value }) => value !== undefined);
        const lines = added.map(({ key, value }) => `${key} ${value}\n`);
        if (lines.length > 0) await this.#command(`add map ${file} <<\n${lines.join('')}`);
      }
    }
  }

  /** Waits for a HAProxy that starts again: it reads the maps as they are now. */
  async #command(text: string, mayFail = false): Promise<string> {
    const until = performance.now() + startWithinMs;
    for (;;) {
      try {
        const answer = await this.#send(`${text}\n`);
        const isRefused = answer.trim() !== '' && !text.startsWith('show');
        if (!isRefused || mayFail) return answer;
        throw new Error(`HAProxy refused "${text.split('\n', 1)[0]}": ${answer.trim()}`);
      } catch (error) {
        const isAway = error instanceof Error && 'code' in error;
        if (!isAway || this.isStopping || performance.now() > until) throw error;
        await pause(pauseMs);
      }
    }
  }

  #send(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let answer = '';
      const socket = connect(fileIn(this.#plan, 'haproxy.sock'), () => socket.write(text));
      socket.setEncoding('utf8');
      socket.on('data', (piece: string) => {
        answer += piece;
      });
      socket.once('error', reject);
      socket.once('end', () => resolve(answer));
    });
  }
}
