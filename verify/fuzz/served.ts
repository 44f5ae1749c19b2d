/**
 * The fuzzed server, in this process or in a child process, where crashes can be observed; and what
 * is in its world.
 */
import { tmpdir } from 'node:os';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { type ReadyFile, Simulator } from '#src/simulator.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { sendBy } from '../testkit/twin/twin.ts';

/** Low, so that the fuzzer reaches them. `stats` has none: each check of the server reads it. */
const limits = { external_send: 5, tasks: 9, stats: null };
const settings = { clock: 'manual', seed: 1, limits } as const;

/**
 * The native server ends the connection of a HEAD request by chance, which costs the replies to the
 * requests of its packet (docs/proxies.md). Random numbers above this exclude it.
 */
const leastRandom = 0.001;
const raisedRandom = `const { random } = Math; Math.random = () => Math.max(random(), ${leastRandom});`;

/** Excludes chance in this process until `act` is done. */
export async function withoutChance<T>(act: () => Promise<T>): Promise<T> {
  const { random } = Math;
  Math.random = () => Math.max(random(), leastRandom);
  return act().finally(() => {
    Math.random = random;
  });
}

export interface Served {
  readonly ready: ReadyFile;
  /** Why it can no longer be used: it has exited, or a request threw; undefined if it can. */
  complaint(): string | undefined;
  stop(): Promise<unknown>;
}

export async function serveHere(transport: TransportKind): Promise<Served> {
  const thrown: unknown[] = [];
  const simulator = new Simulator(settings);
  const onInternalError = (error: unknown) => thrown.push(error);
  await simulator.listen({ control: {}, transport, onInternalError });
  return {
    ready: simulator.readyFile(),
    complaint: () =>
      thrown.length === 0 ? undefined : String(Object(thrown[0]).stack ?? thrown[0]),
    stop: () => simulator.close(),
  };
}

export function serveInChild(transport: TransportKind): Promise<Served> {
  const limitFlags = Object.entries(limits).flatMap(([endpoint, limit]) => {
    return ['--limit', `${endpoint}=${limit ?? 'off'}`];
  });
  const flags = ['--clock', settings.clock, '--seed', String(settings.seed), ...limitFlags];
  const preloaded = `data:text/javascript,${encodeURIComponent(raisedRandom)}`;
  return ServedProcess.start(tmpdir(), [...flags, '--transport', transport], preloaded);
}

export type Facts = ReturnType<typeof gatherFacts>;

const messagesPerAccount = 8;

/**
 * The keys, numbers and ids in the world of a fuzzed server. They follow from the seed and are the
 * same after every reset, so a simulator in this process knows those of every fuzzed server.
 */
export function gatherFacts() {
  const simulator = new Simulator(settings, { journal: false });
  const { accounts, pool } = simulator.readyFile();
  const sims = [...accounts.flatMap((account) => account.sims), ...pool];
  const keyIds = simulator.accounts.allKeys().map(({ key_id: id }) => id);
  const sends = [0, 1].flatMap((account) =>
    Array.from({ length: messagesPerAccount }, () => sendBy(simulator, account, {})),
  );
  simulator.reset();
  return {
    keys: accounts.map((account) => account.api_key),
    keyIds,
    accountIds: accounts.map((account) => account.account_id),
    numbers: sims.map(({ number }) => number),
    deviceIds: sims.map((sim) => sim.device_id),
    /** The ids of the first messages accepted after a reset. */
    messageIds: sends.map(({ body }): string => JSON.parse(body).message_id),
    /** The whole state directly after a reset, as text. */
    snapshot: JSON.stringify(simulator.snapshots.take()),
  };
}
