/**
 * Starts the processes of a fleet, watches them, and stops them in order. Each shard is a `serve`
 * process; HAProxy takes the requests of clients to the shard that has their world or account.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { UsageError } from '../commands/command-error.ts';
import type { TlsPair } from '../config/tls.ts';
import { controlPort } from '../control/control-port.ts';
import { nodeTransport } from '../http/transport/open-transport.ts';
import type { Transport } from '../http/transport/transport.ts';
import type { ReadyFile } from '../operations/ready-numbers.ts';
import { type ControlOptions, urlOf, urlsForHost } from '../ports.ts';
import { freePort } from './child.ts';
import { FleetControl } from './control.ts';
import { Haproxy, writeRouterFiles } from './haproxy.ts';
import type { RouterPlan } from './haproxy-config.ts';
import { type Parts, Routes } from './routes.ts';
import { type JoinedShard, Shard, type ShardOptions } from './shard.ts';
import { Wide } from './wide.ts';

export interface FleetOptions {
  readonly shards: number;
  /** Shards that run elsewhere, in place of processes of this fleet. */
  readonly join: readonly JoinedShard[] | undefined;
  /** Writes HAProxy's files here, and starts nothing. */
  readonly printTo: string | undefined;
  /** Starts `serve`, without its flags. */
  readonly program: { readonly file: string; readonly argv: readonly string[] };
  /** The flags of every shard. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly host: string;
  readonly port: number;
  readonly control: (ControlOptions & { readonly host: string; readonly port: number }) | false;
  readonly publicUrl: string | undefined;
  /** The certificate and its key, if the base URL is HTTPS. */
  readonly tls: TlsPair | undefined;
  readonly trustProxy: boolean;
  /** The first world spans all shards. */
  readonly wide:
    | {
        readonly couplesPool: boolean;
        /** Exactly one space comes before the key of a request. */
        readonly oneSpace: boolean;
        /** `--max-messages`, which the shards share. */
        readonly maxMessages: number | undefined;
      }
    | undefined;
  readonly journalDir: string | undefined;
  readonly shardTimeoutMs: number;
  readonly statsPort: number | undefined;
  readonly notice: (line: string) => void;
  /** Gets the shards' own lines, such as those of `--log`. */
  readonly onLine: (line: string) => void;
  readonly onShutdown: () => void;
}

const loopback = '127.0.0.1';
const watchMs = 1_000;
/** Worlds are listed at most this often to see which have expired. */
const expiryPauseMs = 1_000;
const controlCloseMs = 1_000;

export class Fleet {
  readonly #options: FleetOptions;
  readonly #folder: string;
  #shards: readonly Shard[] = [];
  #haproxy: Haproxy | undefined;
  #control: Transport | undefined;
  #watching: NodeJS.Timeout | undefined;
  #ready: ReadyFile | undefined;

  private constructor(options: FleetOptions) {
    this.#options = options;
    this.#folder = mkdtempSync(join(tmpdir(), 'smstwin-fleet-'));
  }

  /** Resolves once all shards, HAProxy and the control port answer. */
  static async start(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options);
    try {
      await fleet.#start();
    } catch (error) {
      await fleet.stop();
      throw error;
    }
    return fleet;
  }

  /** The content of its ready file; the control URL is null without a control port. */
  get readyFile() {
    if (this.#ready === undefined) throw new Error('the fleet has not started');
    return this.#ready;
  }

  /** Finishes the requests in flight, then stops the shards. */
  async stop(): Promise<void> {
    clearInterval(this.#watching);
    await this.#haproxy?.stop();
    await Promise.all(this.#shards.map((shard) => shard.stop()));
    await this.#control?.close(controlCloseMs);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const options = this.#options;
    const { host, control } = options;
    this.#refuseOtherSettings();
    const port = await freePort(options.port, host);
    if (options.statsPort !== undefined) await freePort(options.statsPort, loopback);
    const baseUrl = options.publicUrl ?? urlOf(host, port, options.tls);
    this.#shards = await (options.join === undefined
      ? this.#startShards(baseUrl)
      : Promise.all(options.join.map((urls, at) => Shard.join(this.#optionsOf(at), urls))));
    const [first, ...others] = this.#shards;
    this.#rememberSettings();
    if (first === undefined) throw new Error('a fleet has a shard');
    const plan: RouterPlan = {
      folder: this.#folder,
      bind: `${host.includes(':') ? `[${host}]` : host}:${port}`,
      shards: this.#shards.map(({ address }) => address),
      tls: options.tls && `${options.tls.cert}\n${options.tls.key}\n`,
      wide: options.wide !== undefined,
      oneSpace: options.wide?.oneSpace === true,
      trustProxy: options.trustProxy,
      shardTimeoutMs: options.shardTimeoutMs,
      statsPort: options.statsPort,
    };
    const haproxy = new Haproxy(plan, options.env, options.notice);
    this.#haproxy = haproxy;
    if (options.printTo === undefined) await haproxy.start();
    const routes = new Routes(haproxy);
    await Promise.all(this.#shards.map((shard) => routes.readShard(shard)));
    const parts: Parts = { shards: [first, ...others], routes, haproxy };
    const stateFile = (name: string) =>
      options.journalDir === undefined ? undefined : join(options.journalDir, name);
    const wide =
      options.wide &&
      (await Wide.start(parts, {
        couplesPool: options.wide.couplesPool,
        ownersFile: stateFile('owners.json'),
        changesFile: stateFile('changes.json'),
        baseUrl,
      }));
    this.#ready = { ...first.ready, base_url: baseUrl, pid: process.pid };
    if (options.printTo !== undefined) {
      writeRouterFiles({ ...plan, folder: resolve(options.printTo) }, haproxy.maps);
      return;
    }
    for (const shard of this.#shards) {
      const held = { map: 'held' as const, key: shard.name };
      shard.onEnded = () => haproxy.change([{ ...held, value: '1' }]);
      shard.onAgain = async () => {
        await routes.readShard(shard);
        await wide?.resume(shard);
        // A change that is under way releases all shards.
        if (wide?.isHolding !== true) await haproxy.change([{ ...held, value: undefined }]);
      };
    }
    let controlUrl: string | undefined;
    if (control !== false) {
      const answers = new FleetControl(parts, {
        wide,
        maxMessages: options.wide?.maxMessages,
        urlsFor: (asked) =>
          urlsForHost(asked, { baseUrl, controlUrl: controlUrl ?? '' }, options.publicUrl),
        onShutdown: options.onShutdown,
      });
      const service = controlPort({ ...control, token: control.token }, answers);
      this.#control = await nodeTransport(service, {
        onInternalError: (error) => options.notice(String(error)),
        heldLimitBytes: 512 * 1024 ** 2,
      });
      controlUrl = urlOf(control.host, await this.#control.listen(control.port, control.host));
    }
    this.#ready = { ...this.#ready, control_url: controlUrl ?? null };
    this.#watch(routes);
  }

  async #startShards(baseUrl: string): Promise<readonly Shard[]> {
    const { shards: count, program, flags, env, journalDir, onLine } = this.#options;
    const most = this.#options.wide?.maxMessages;
    const started: Shard[] = [];
    let next = 0;
    // Each start keeps a core busy.
    const startSome = async () => {
      for (let index = next++; index < count; index = next++) {
        const folder = journalDir === undefined ? undefined : join(journalDir, `shard-${index}`);
        if (folder !== undefined) mkdirSync(folder, { recursive: true, mode: 0o700 });
        const own = [
          ...['--host', loopback, '--control-host', loopback, '--public-url', baseUrl],
          // HAProxy overwrites `X-Forwarded-For`.
          ...['--trust-proxy', '--shard', `${index}/${count}`],
          ...(folder === undefined ? [] : ['--journal-dir', folder]),
          ...(most === undefined ? [] : ['--max-messages', `${Math.ceil(most / count)}`]),
        ];
        started[index] = await Shard.start(this.#optionsOf(index), {
          file: program.file,
          argv: [...program.argv, 'serve', ...flags, ...own],
          env,
          folder: this.#folder,
          onLine: (line) => onLine(line.replace(/^smstwin: /, `smstwin: shard ${index}: `)),
        });
      }
    };
    const starts = Array.from({ length: Math.min(count, availableParallelism()) }, startSome);
    const results = await Promise.allSettled(starts);
    this.#shards = started.filter((shard) => shard !== undefined);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return started;
  }

  /** What the shards do not compare with their journals. */
  get #layout() {
    const { shards, wide } = this.#options;
    return { shards, wide: wide !== undefined };
  }

  get #layoutFile(): string | undefined {
    const { journalDir } = this.#options;
    return journalDir === undefined ? undefined : join(journalDir, 'fleet.json');
  }

  /** Throws a UsageError if the folder of journals is that of a fleet with other shards. */
  #refuseOtherSettings(): void {
    const file = this.#layoutFile;
    if (file === undefined || !existsSync(file)) return;
    const there = JSON.parse(readFileSync(file, 'utf8')) as { shards?: unknown; wide?: unknown };
    const { shards, wide } = this.#layout;
    const others = [
      ...(there.shards === shards ? [] : [`with --shards ${there.shards}`]),
      ...(there.wide === wide ? [] : [`${there.wide ? 'with' : 'without'} --wide`]),
    ];
    if (others.length === 0) return;
    const said = `recorded ${others.join(' and ')}`;
    throw new UsageError(`${file}: ${said}; start with the same settings, or name a new folder`);
  }

  #rememberSettings(): void {
    const file = this.#layoutFile;
    if (file === undefined) return;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify(this.#layout), { mode: 0o600 });
  }

  #optionsOf(index: number): ShardOptions {
    const { control, shardTimeoutMs: timeoutMs, notice } = this.#options;
    return { index, token: control === false ? undefined : control.token, timeoutMs, notice };
  }

  #watch(routes: Routes): void {
    let readMs = Date.now();
    let isBusy = false;
    const look = async () => {
      await Promise.all(this.#shards.map((shard) => shard.check()));
      const { nextExpiryMs } = routes;
      const now = Date.now();
      if (nextExpiryMs === undefined || now < nextExpiryMs || now < readMs + expiryPauseMs) return;
      readMs = now;
      const ready = this.#shards.filter(({ state }) => state === 'ready');
      await Promise.all(ready.map((shard) => routes.readShard(shard)));
    };
    this.#watching = setInterval(() => {
      if (isBusy) return;
      isBusy = true;
      void look()
        .catch((error) => this.#options.notice(String(error)))
        .finally(() => {
          isBusy = false;
        });
    }, watchMs);
  }
}
