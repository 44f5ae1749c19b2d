/**
 * Creates worlds, each on the shard with the fewest messages. Names and explicit keys are unique in
 * the whole fleet, also among worlds that are created at the same time.
 */
import { sha256 } from '../recording/digest.ts';
import { type OperationRefused, refuseMore } from '../sim/operation-refused.ts';
import { keyInUse, mostWorlds, nameInUse } from '../worlds/worlds.ts';
import type { Answer, Asked } from './ask.ts';
import type { Routes, WorldView } from './routes.ts';
import { type Shard, ShardUnavailable } from './shard.ts';

/** Numbers of messages that are this old still decide where a new world goes. */
const countsAgeMs = 1_000;
/** Of shards with equally many messages, the one with fewer worlds is next. */
const burdenOfWorld = 1 / (mostWorlds + 1);

export class NewWorlds {
  readonly #shards: readonly [Shard, ...Shard[]];
  readonly #routes: Routes;
  /** Names and keys of worlds that are being created. */
  readonly #reserved = new Set<string>();
  /** The messages of each shard. */
  readonly #burdens = new Map<Shard, number>();
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(shards: readonly [Shard, ...Shard[]], routes: Routes) {
    this.#shards = shards;
    this.#routes = routes;
  }

  /** `at`: where it must be, as it is a copy of a world there. Throws an OperationRefused. */
  async create(asked: Asked, given: unknown, at: Shard | undefined): Promise<Answer> {
    refuseMore(this.#routes.size, mostWorlds, 'worlds');
    const names = [...namesIn(given)];
    for (const [name, refusal] of names) {
      if (this.#reserved.has(name) || this.#routes.isTaken(name)) throw refusal;
    }
    for (const [name] of names) this.#reserved.add(name);
    try {
      if (at !== undefined) return await this.#createOn(at, asked);
      for (let tries = this.#shards.length; ; tries--) {
        const shard = await this.#emptiest();
        const answer = await this.#createOn(shard, asked);
        if (answer.status !== 503 || tries === 1) return answer;
        // Its disk is full: it keeps its worlds, and new ones go elsewhere.
        this.#burdens.set(shard, Number.POSITIVE_INFINITY);
      }
    } finally {
      for (const [name] of names) this.#reserved.delete(name);
    }
  }

  async #createOn(shard: Shard, asked: Asked): Promise<Answer> {
    try {
      const answer = await shard.ask(asked);
      if (answer.status === 201) {
        await this.#routes.readWorld(shard, JSON.parse(answer.body) as WorldView);
      }
      return answer;
    } catch (error) {
      // It may have been created, but its id is lost.
      if (error instanceof ShardUnavailable) void this.#routes.readShard(shard).catch(() => {});
      throw error;
    }
  }

  async #emptiest(): Promise<Shard> {
    if (performance.now() - this.#countedMs > countsAgeMs) {
      this.#countedMs = performance.now();
      await Promise.all(this.#shards.map((shard) => this.#count(shard)));
    }
    const burdenOf = (shard: Shard) => this.#burdens.get(shard) ?? 0;
    const emptiest = this.#shards.reduce((best, shard) =>
      burdenOf(shard) < burdenOf(best) ? shard : best,
    );
    this.#burdens.set(emptiest, burdenOf(emptiest) + burdenOfWorld);
    return emptiest;
  }

  async #count(shard: Shard): Promise<void> {
    if (shard.state !== 'ready') {
      // It is not a place for a new world.
      this.#burdens.set(shard, Number.POSITIVE_INFINITY);
      return;
    }
    await this.#routes.readShard(shard);
    const { retention } = await shard.read('simulator.state');
    const own = this.#routes.worlds.filter((world) => world.shard === shard);
    const inWorlds = own.reduce((sum, { messages }) => sum + messages, 0);
    this.#burdens.set(shard, retention.held + inWorlds + own.length * burdenOfWorld);
  }
}

interface Given {
  readonly name?: unknown;
  readonly world?: {
    readonly accounts?: readonly { readonly keys?: readonly { readonly key?: unknown }[] }[];
  };
}

/** What a new world must have for itself, as `Routes.isTaken` reads it, and the refusal. */
function* namesIn(given: unknown): Generator<readonly [string, OperationRefused]> {
  const { name, world } = (given ?? {}) as Given;
  if (typeof name === 'string') yield [`name:${name}`, nameInUse(name)];
  for (const [at, account] of listOf(world?.accounts).entries()) {
    for (const [place, each] of listOf(account?.keys).entries()) {
      if (typeof each?.key !== 'string') continue;
      const path = `world.accounts[${at}].keys[${place}].key`;
      yield [`key:${sha256(each.key)}`, keyInUse(path)];
    }
  }
}

function listOf<T>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? value : [];
}
