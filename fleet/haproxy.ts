/**
 * The HAProxy process, which routes requests to shards by maps. The fleet changes the maps through
 * HAProxy's runtime API, on its stats socket, so HAProxy never reloads its configuration.
 */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError, UsageError } from '#io/command-error.ts';
import { Child } from './child.ts';
import { type MapName, mapFile, mapNames, type RouterPlan, routerFiles } from './haproxy-config.ts';

export interface MapChange {
  readonly map: MapName;
  readonly key: string;
  /** Undefined: the entry is removed. */
  readonly value: string | undefined;
}

/** HAProxy reads a command with its payload into one buffer of 16 KiB, so commands are short. */
const changesPerCommand = 100;
const startWithinMs = 10_000;
/** The time between two attempts to send a command while HAProxy starts. */
const pauseMs = 20;
/** The time from a failed start to the next one. */
const restartPauseMs = 1_000;
const stopWithinMs = 3_000;

const noHaproxy =
  'HAProxy is not on the PATH: install it (Debian, Ubuntu: apt-get install haproxy; macOS: brew install haproxy)';

/** Throws a UsageError if HAProxy is not installed. */
export function findHaproxy(env: Readonly<Record<string, string | undefined>>): void {
  try {
    execFileSync('haproxy', ['-v'], { env, stdio: 'ignore' });
  } catch {
    throw new UsageError(noHaproxy);
  }
}

export function writeRouterFiles(plan: RouterPlan, maps: RouterMaps): void {
  const write = (name: string, text: string) =>
    writeFileSync(join(plan.folder, name), text, { mode: 0o600 });
  for (const [name, text] of Object.entries(routerFiles(plan))) write(name, text);
  for (const map of mapNames) {
    const lines = [...maps[map]].map(([key, value]) => `${key} ${value}\n`);
    write(mapFile(map), lines.join(''));
  }
}

export type RouterMaps = Readonly<Record<MapName, Map<string, string>>>;

export class Haproxy {
  readonly #plan: RouterPlan;
  readonly #env: Readonly<Record<string, string>>;
  readonly #notice: (line: string) => void;
  /** The entries that HAProxy has once the changes under way are made. */
  readonly maps = Object.fromEntries(mapNames.map((name) => [name, new Map()])) as RouterMaps;
  #child: Child | undefined;
  #isStopping = false;
  #isReady = false;
  /** The last change: changes are made one after another. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(
    plan: RouterPlan,
    env: Readonly<Record<string, string>>,
    notice: (line: string) => void,
  ) {
    this.#plan = plan;
    this.#env = env;
    this.#notice = notice;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Starts HAProxy, and starts it again whenever it ends. */
  async start(): Promise<void> {
    await this.#launch();
    void this.#watch();
  }

  /** Changes entries of the maps, and resolves once HAProxy routes by them. */
  change(changes: readonly MapChange[]): Promise<void> {
    const effective = changes
      .filter(({ map, key, value }) => this.maps[map].get(key) !== value)
      .map((change) => ({ ...change, replaces: this.maps[change.map].has(change.key) }));
    for (const { map, key, value } of effective) {
      if (value === undefined) this.maps[map].delete(key);
      else this.maps[map].set(key, value);
    }
    if (this.#child === undefined) return Promise.resolve();
    const done = this.#lastChange.then(() => this.#apply(effective));
    this.#lastChange = done.catch(() => {});
    return done;
  }

  /** The number of requests in flight at all shards. */
  async countInFlight(): Promise<number> {
    return [...(await this.#sessions()).values()].reduce((sum, count) => sum + count, 0);
  }

  /**
   * The number of requests that wait, by the name of their shard: those that are held back, and
   * those that try to connect to one of the shards that are `down`.
   */
  async countWaiting(down: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const sessions = await this.#sessions();
    const counts = new Map(down.map((name) => [name, sessions.get(name) ?? 0]));
    for (const line of (await this.#command('show held')).trim().split('\n')) {
      const [name = '', count = '0'] = line.split(' ');
      counts.set(name, (counts.get(name) ?? 0) + Number(count));
    }
    return counts;
  }

  /** The number of current sessions, by the name of their shard. */
  async #sessions(): Promise<ReadonlyMap<string, number>> {
    // Returns CSV: all proxies (-1), objects of type 4 (servers), all of them (-1).
    const [header, ...rows] = (await this.#command('show stat -1 4 -1')).trim().split('\n');
    const column = header?.split(',').indexOf('scur') ?? -1;
    const cells = rows.map((row) => row.split(','));
    return new Map(cells.map((row) => [row[0] ?? '', Number(row[column] ?? 0)]));
  }

  /** Stops HAProxy once it has finished the requests in flight. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#child?.stop('SIGUSR1', stopWithinMs);
  }

  async #launch(): Promise<void> {
    const socket = join(this.#plan.folder, 'haproxy.sock');
    rmSync(socket, { force: true });
    writeRouterFiles(this.#plan, this.maps);
    let reason = '';
    const child = new Child({
      file: 'haproxy',
      argv: ['-db', '-C', this.#plan.folder, '-f', 'haproxy.cfg'],
      env: this.#env,
      onLine: (line) => {
        reason ||= /^\[ALERT\][^:]*: (.*)/.exec(line)?.[1] ?? '';
      },
    });
    this.#child = child;
    const end = await child.until(() => this.#answers(), startWithinMs);
    if (end !== undefined)
      throw new CommandError(3, `HAProxy did not start (${end}): ${reason || child.lastLine}`);
    this.#isReady = true;
  }

  async #watch(): Promise<void> {
    for (;;) {
      const end = await this.#child?.ended;
      this.#isReady = false;
      if (this.#isStopping) return;
      this.#notice(`HAProxy ended (${end}); starting it again`);
      try {
        await this.#launch();
      } catch (error) {
        this.#notice(error instanceof Error ? error.message : String(error));
        await pause(restartPauseMs);
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
      const file = mapFile(map);
      const ofMap = changes.filter((change) => change.map === map);
      for (let start = 0; start < ofMap.length; start += changesPerCommand) {
        const batch = ofMap.slice(start, start + changesPerCommand);
        // `add map` would add a second entry for a key, so the old one is removed first.
        const removed = batch.filter(({ replaces }) => replaces);
        const commands = removed.map(({ key }) => `del map ${file} ${key}`);
        if (commands.length > 0) await this.#command(commands.join('; '));
        const added = batch.filter(({ value }) => value !== undefined);
        const lines = added.map(({ key, value }) => `${key} ${value}\n`);
        if (lines.length > 0) await this.#command(`add map ${file} <<\n${lines.join('')}`);
      }
    }
  }

  /** Sends a command and returns the answer. Retries while HAProxy starts again. */
  async #command(text: string): Promise<string> {
    const untilMs = performance.now() + startWithinMs;
    for (;;) {
      try {
        const answer = await this.#send(`${text}\n`);
        // Any other command is silent. A removed entry may be gone already.
        if (answer.trim() === '' || /^(?:show|del) /.test(text)) return answer;
        throw new Error(`HAProxy refused "${text.split('\n', 1)[0]}": ${answer.trim()}`);
      } catch (error) {
        const isDisconnected = error instanceof Error && 'code' in error;
        if (!isDisconnected || this.#isStopping || performance.now() > untilMs) throw error;
        await pause(pauseMs);
      }
    }
  }

  #send(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let answer = '';
      const socket = connect(join(this.#plan.folder, 'haproxy.sock'), () => socket.write(text));
      socket.setEncoding('utf8');
      socket.on('data', (piece: string) => {
        answer += piece;
      });
      socket.once('error', reject);
      socket.once('end', () => resolve(answer));
    });
  }
}
