/**
 * Starts the processes of a fleet, watches them, and stops them in order. Each shard is a `serve`
 * process. HAProxy passes each request to the shard that has the client's world or account.
 */

import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { workOn } from '#io/event-loop.ts';
import { authorityOf } from '#io/flag-values.ts';
import type { TlsPair } from '#src/config/tls.ts';
import { controlPort } from '#src/control/control-port.ts';
import { freePort, type HeldPort, holdPort } from '#src/http/transport/listening.ts';
import { nodeTransport } from '#src/http/transport/open-transport.ts';
import { controlHeldLimitBytes, type Transport } from '#src/http/transport/transport.ts';
import type { ReadyFile } from '#src/operations/worlds/world-view.ts';
import { type ControlOptions, urlOf, urlsForHost } from '#src/ports.ts';
import { defaultAssumptions } from '#src/sim/assumptions.ts';
import type { Share } from '#src/worlds/address.ts';
import { FleetControl } from './control.ts';
import { Haproxy, writeRouterFiles } from './haproxy.ts';
import type { RouterPlan } from './haproxy-config.ts';
import { type FleetParts, Routes } from './routes.ts';
import type { Shard, ShardOptions } from './shard.ts';
import { type JoinedShard, ShardSupervisor } from './shard-supervisor.ts';
import { createPrivateFolder, refuseOtherLayout, saveLayout } from './state-file.ts';
import { WideWorld } from './wide/wide-world.ts';

interface WideOptions extends Pick<RouterPlan, 'bearer'> {
  /** True if accounts without a SIM influence each other, so they must share a shard. */
  readonly couplesPool: boolean;
  /** `--max-messages`: each shard gets an equal part. */
  readonly maxMessages: number | undefined;
}

export interface FleetOptions
  extends Pick<RouterPlan, 'trustProxy' | 'shardTimeoutMs' | 'statsPort'> {
  readonly shards: number;
  /** Shards that run elsewhere, in place of processes of this fleet. */
  readonly join: readonly JoinedShard[] | undefined;
  /** Writes HAProxy's files here, and starts no HAProxy and no control port. */
  readonly printTo: string | undefined;
  /** The command line that starts `smstwin`, to which `serve` and its flags are added. */
  readonly program: { readonly file: string; readonly argv: readonly string[] };
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly host: string;
  readonly port: number;
  readonly control: (ControlOptions & { readonly host: string; readonly port: number }) | false;
  readonly publicUrl: string | undefined;
  /** The certificate and its key, if the base URL is HTTPS. */
  readonly tls: TlsPair | undefined;
  /** Set if the first world spans all shards (a wide world). */
  readonly wide: WideOptions | undefined;
  /** Each shard has its journals in a folder below this one. */
  readonly journalDir: string | undefined;
  readonly notice: (line: string) => void;
  /** Gets the lines that shards write to stderr, such as those of `--log`. */
  readonly onLine: (line: string) => void;
  readonly onShutdown: () => void;
}

const loopback = '127.0.0.1';
/** How often the fleet checks that its shards answer, and which worlds have expired. */
const checkEveryMs = 1_000;
/** How long replies of the control port may take when the fleet stops. */
const controlCloseMs = 1_000;

type PrivateFolder = Awaited<ReturnType<typeof createPrivateFolder>>;

export class Fleet {
  readonly #options: FleetOptions;
  /** The folder of HAProxy's files and of the shards' ready files. */
  readonly #folder: PrivateFolder;
  #supervisors: readonly ShardSupervisor[] = [];
  #haproxy: Haproxy | undefined;
  #control: Transport | undefined;
  /** The port of the service, until HAProxy binds it. */
  #held: HeldPort | undefined;
  #isStopping = false;

  private constructor(options: FleetOptions, folder: PrivateFolder) {
    this.#options = options;
    this.#folder = folder;
  }

  /** Resolves once all shards, HAProxy and the control port answer. */
  static async start(
    options: FleetOptions,
  ): Promise<{ readonly readyFile: ReadyFile; readonly stop: () => Promise<void> }> {
    const fleet = new Fleet(options, await createPrivateFolder());
    try {
      return { readyFile: await fleet.#start(), stop: () => fleet.#stop() };
    } catch (error) {
      await fleet.#stop();
      throw error;
    }
  }

  /**
   * Starts the shards, then HAProxy, which needs their addresses; then reads the routes, which
   * HAProxy must have before a client comes; then opens the control port. `--print-config` ends once
   * the routes are read, for which the clocks of a wide world are brought to one time. Returns the
   * content of `--ready-file`.
   */
  async #start(): Promise<ReadyFile> {
    const { host, printTo, env, notice, journalDir } = this.#options;
    const layout = { shards: this.#options.shards, wide: this.#options.wide !== undefined };
    // The shards.
    if (journalDir !== undefined) refuseOtherLayout(journalDir, layout);
    const { port, release } = await this.#holdPort();
    const baseUrl = this.#options.publicUrl ?? urlOf(host, port, this.#options.tls);
    this.#supervisors = await this.#startShards(baseUrl);
    if (journalDir !== undefined) saveLayout(journalDir, layout);
    // HAProxy, which binds the port that was held for it.
    const plan = this.#routerPlan(port);
    const haproxy = new Haproxy(plan, env, notice);
    const shards = this.#supervisors.map(({ shard }) => shard) as [Shard, ...Shard[]];
    const parts = { shards, routes: new Routes(haproxy), haproxy };
    await release();
    const readyFile = { ...shards[0].life.ready, base_url: baseUrl, pid: process.pid };
    if (printTo !== undefined) {
      await this.#readRoutes(parts, baseUrl);
      writeRouterFiles({ ...plan, folder: resolve(printTo) }, haproxy.maps);
      return readyFile;
    }
    this.#haproxy = haproxy;
    await haproxy.start();
    // The routes, and what needs them.
    const wide = await this.#readRoutes(parts, baseUrl);
    this.#holdRequestsAtRestarts(parts, wide);
    const controlUrl = await this.#openControl(parts, baseUrl, wide);
    void this.#checkRepeatedly(parts.routes);
    return { ...readyFile, control_url: controlUrl };
  }

  /** Holds the port of the service. Throws if it, or the port of HAProxy's page, is in use. */
  async #holdPort(): Promise<HeldPort> {
    const { host, port, statsPort } = this.#options;
    if (statsPort !== undefined) await freePort(statsPort, loopback);
    this.#held = await holdPort(port, host);
    return this.#held;
  }

  /** Starts the shards, or joins those that run elsewhere. */
  async #startShards(baseUrl: string): Promise<readonly ShardSupervisor[]> {
    const { shards: count, join: joined } = this.#options;
    if (joined !== undefined)
      return Promise.all(
        joined.map((urls, index) => ShardSupervisor.join(this.#shardOptions(index), urls)),
      );
    const started: ShardSupervisor[] = [];
    try {
      // A start keeps a core busy, so as many run at one time as there are cores.
      await workOn(new Array(count).keys(), availableParallelism(), async (index) => {
        started[index] = await this.#startOne(index, baseUrl);
      });
    } finally {
      // Also if one fails: `#stop` then stops the others.
      this.#supervisors = started.filter((supervisor) => supervisor !== undefined);
    }
    return started;
  }

  async #startOne(index: number, baseUrl: string): Promise<ShardSupervisor> {
    const { shards: count, program, flags, env, journalDir, wide, onLine } = this.#options;
    const journals = journalDir === undefined ? undefined : join(journalDir, `shard-${index}`);
    if (journals !== undefined) mkdirSync(journals, { recursive: true, mode: 0o700 });
    const all = wide?.maxMessages;
    const ownFlags = [
      ...['--public-url', baseUrl],
      ...['--shard', `${index}/${count}`],
      ...(journals === undefined ? [] : ['--journal-dir', journals]),
      ...(all === undefined ? [] : ['--max-messages', `${partOf(all, { index, count })}`]),
    ];
    return ShardSupervisor.start(this.#shardOptions(index), {
      file: program.file,
      argv: [...program.argv, 'serve', ...flags, ...ownFlags],
      env,
      folder: this.#folder.path,
      onLine,
    });
  }

  #shardOptions(index: number): ShardOptions {
    const { control, shardTimeoutMs: timeoutMs, notice } = this.#options;
    return { index, token: control === false ? undefined : control.token, timeoutMs, notice };
  }

  #routerPlan(port: number): RouterPlan {
    const { host, tls, wide, trustProxy, shardTimeoutMs, statsPort } = this.#options;
    return {
      folder: this.#folder.path,
      bind: authorityOf(host, port),
      shards: this.#supervisors.map(({ address }) => address),
      tls: tls && `${tls.cert}\n${tls.key}\n`,
      isWide: wide !== undefined,
      bearer: wide?.bearer ?? defaultAssumptions,
      trustProxy,
      shardTimeoutMs,
      statsPort,
    };
  }

  /** Fills HAProxy's maps. Returns the wide world, if the first world is one. */
  async #readRoutes(parts: FleetParts, baseUrl: string): Promise<WideWorld | undefined> {
    await Promise.all(parts.shards.map((shard) => parts.routes.readShard(shard)));
    const { wide } = this.#options;
    return wide && this.#startWide(wide, parts, baseUrl);
  }

  #startWide({ couplesPool }: WideOptions, parts: FleetParts, baseUrl: string): Promise<WideWorld> {
    const { journalDir } = this.#options;
    const inJournalDir = (name: string) =>
      journalDir === undefined ? undefined : join(journalDir, name);
    return WideWorld.start(parts, {
      couplesPool,
      ownersFile: inJournalDir('owners.json'),
      changesFile: inJournalDir('changes.json'),
      baseUrl,
    });
  }

  /** Makes HAProxy hold the requests of a shard back while it is down: its map `held` names it. */
  #holdRequestsAtRestarts({ routes, haproxy }: FleetParts, wide?: WideWorld): void {
    for (const supervisor of this.#supervisors) {
      const { shard } = supervisor;
      const setHeld = (isHeld: boolean) =>
        haproxy.change([{ map: 'held', key: shard.name, value: isHeld ? '1' : undefined }]);
      supervisor.onEnded = () => this.#unlessStopping(() => setHeld(true));
      const resume = async () => {
        await routes.readShard(shard);
        await wide?.resume(shard);
        // A change that is under way holds all shards, and releases them at its end.
        if (wide?.isHolding !== true) await setHeld(false);
      };
      supervisor.onRestarted = () => this.#unlessStopping(resume);
    }
  }

  /** Ignores errors once the fleet stops: HAProxy ends before the shards. */
  async #unlessStopping(change: () => Promise<void>): Promise<void> {
    await change().catch((error: unknown) => {
      if (!this.#isStopping) throw error;
    });
  }

  /** Returns the URL of the control port; null if the fleet has none. */
  async #openControl(parts: FleetParts, baseUrl: string, wide?: WideWorld) {
    const { control, publicUrl, notice, onShutdown } = this.#options;
    if (control === false) return null;
    let controlUrl = '';
    const answers = new FleetControl(parts, {
      wide,
      maxMessages: this.#options.wide?.maxMessages,
      urlsFor: (host) => urlsForHost(host, { baseUrl, controlUrl }, publicUrl),
      onShutdown,
    });
    // `token` is optional in the fleet's options. `controlPort` wants it named, even as undefined.
    const service = controlPort({ ...control, token: control.token }, answers);
    this.#control = await nodeTransport(service, {
      onInternalError: (error) => notice(String(error)),
      heldLimitBytes: controlHeldLimitBytes,
    });
    controlUrl = urlOf(control.host, await this.#control.listen(control.port, control.host));
    return controlUrl;
  }

  /** Checks whether shards answer, and reads the lists of worlds again once one may have expired. */
  async #checkRepeatedly(routes: Routes): Promise<void> {
    while (!this.#isStopping) {
      await pause(checkEveryMs, undefined, { ref: false });
      try {
        await Promise.all(this.#supervisors.map((supervisor) => supervisor.check()));
        if (Date.now() < routes.nextExpiryMs) continue;
        const ready = this.#supervisors.filter(({ state }) => state === 'ready');
        await Promise.all(ready.map(({ shard }) => routes.readShard(shard)));
      } catch (error) {
        if (!this.#isStopping) this.#options.notice(String(error));
      }
    }
  }

  async #stop(): Promise<void> {
    this.#isStopping = true;
    const stops = [
      async () => this.#held?.release(),
      async () => this.#haproxy?.stop(),
      async () => Promise.all(this.#supervisors.map((supervisor) => supervisor.stop())),
      async () => this.#control?.close(controlCloseMs),
    ];
    // What fails to stop keeps nothing else running.
    const failures: unknown[] = [];
    for (const stop of stops) await stop().catch((error: unknown) => failures.push(error));
    this.#folder.remove();
    if (failures.length > 0) throw failures[0];
  }
}

/** One shard's part of a number, at least 1. If parts differ, the first shards get 1 more. */
function partOf(all: number, { index, count }: Share): number {
  return Math.max(1, Math.floor(all / count) + (index < all % count ? 1 : 0));
}
