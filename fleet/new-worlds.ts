/**
 * Creates worlds, each on the shard with the fewest messages. Names and explicit keys are unique in
 * the whole fleet, also among worlds that are created at the same time.
 */
import { hash } from 'node:crypto';
import { type OperationRefused, refuseMore } from '#src/sim/errors.ts';
import { keyInUse, nameInUse } from '#src/worlds/hosted-world.ts';
import { mostWorlds } from '#src/worlds/worlds.ts';
import type { ShardReply, ShardRequest } from './ask.ts';
import type { Routes } from './routes.ts';
import { type Shard, ShardUnavailable } from './shard.ts';

/** The messages of the shards are counted at most this often. */
const countEveryMs = 1_000;
/** The load of a world without messages: all of them together count less than one message. */
const loadOfWorld = 1 / (mostWorlds + 1);

export class NewWorlds {
  readonly #shards: readonly [Shard, ...Shard[]];
  readonly #routes: Routes;
  /** The ids of the claims of worlds that are being created. */
  readonly #reserved = new Set<string>();
  /** The messages of each shard, and a little for each world. Infinity: it takes no new world. */
  readonly #loads = new Map<Shard, number>();
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(shards: readonly [Shard, ...Shard[]], routes: Routes) {
    this.#shards = shards;
    this.#routes = routes;
  }

  /**
   * Creates a world. `input`: the parsed body of `request`. `origin`: the shard of the world that
   * it copies, which must also be the shard of the copy. Throws an OperationRefused.
   */
  async create(
    request: ShardRequest,
    input: unknown,
    origin: Shard | undefined,
  ): Promise<ShardReply> {
    refuseMore(this.#routes.size, mostWorlds, 'worlds');
    const claims = claimsOf(input, this.#routes);
    for (const { id, isTaken, refusal } of claims)
      if (isTaken || this.#reserved.has(id)) throw refusal;
    for (const { id } of claims) this.#reserved.add(id);
    try {
      if (origin !== undefined) return await this.#createOn(origin, request);
      for (let tries = this.#shards.length; ; tries--) {
        const shard = await this.#chooseEmptiest();
        const reply = await this.#createOn(shard, request);
        if (reply.status !== 503 || tries === 1) return reply;
        // Its disk is full: it keeps its worlds, and new ones go elsewhere.
        this.#loads.set(shard, Number.POSITIVE_INFINITY);
      }
    } finally {
      for (const { id } of claims) this.#reserved.delete(id);
    }
  }

  async #createOn(shard: Shard, request: ShardRequest): Promise<ShardReply> {
    try {
      const reply = await shard.ask(request);
      if (reply.status === 201)
        await this.#routes.readKeys(shard, shard.parse('worlds.create', reply));
      return reply;
    } catch (error) {
      // The shard may have created the world, but the reply with its id is lost.
      if (error instanceof ShardUnavailable) void this.#routes.readShard(shard).catch(() => {});
      throw error;
    }
  }

  async #chooseEmptiest(): Promise<Shard> {
    if (performance.now() - this.#countedMs > countEveryMs) {
      this.#countedMs = performance.now();
      await Promise.all(this.#shards.map((shard) => this.#updateLoad(shard)));
    }
    const loadOf = (shard: Shard) => this.#loads.get(shard) ?? 0;
    const emptiest = this.#shards.reduce((a, b) => (loadOf(b) < loadOf(a) ? b : a));
    this.#loads.set(emptiest, loadOf(emptiest) + loadOfWorld);
    return emptiest;
  }

  async #updateLoad(shard: Shard): Promise<void> {
    if (shard.life.state !== 'ready') {
      this.#loads.set(shard, Number.POSITIVE_INFINITY);
      return;
    }
    await this.#routes.readShard(shard);
    const { retention } = await shard.read('simulator.state');
    const worlds = this.#routes.worlds.filter((world) => world.shard === shard);
    const inWorlds = worlds.reduce((sum, { messages }) => sum + messages, 0);
    this.#loads.set(shard, retention.held + inWorlds + worlds.length * loadOfWorld);
  }
}

/** The body of a request to create a world; it is not validated. */
interface NewWorldInput {
  readonly name?: unknown;
  readonly world?: {
    readonly accounts?: readonly { readonly keys?: readonly { readonly key?: unknown }[] }[];
  };
}

/** A name or a key that a new world asks for. */
interface Claim {
  /** The name or the digest of the key, with its kind. */
  readonly id: string;
  /** True if a world has it. */
  readonly isTaken: boolean;
  /** Thrown if a world has it, or another new one claims it. */
  readonly refusal: OperationRefused;
}

function claimsOf(input: unknown, routes: Routes): readonly Claim[] {
  const { name, world } = (input ?? {}) as NewWorldInput;
  const claims: Claim[] = [];
  if (typeof name === 'string') {
    const isTaken = routes.hasName(name);
    claims.push({ id: `name:${name}`, isTaken, refusal: nameInUse(name) });
  }
  for (const [accountIndex, account] of listOf(world?.accounts).entries()) {
    for (const [keyIndex, entry] of listOf(account?.keys).entries()) {
      if (typeof entry?.key !== 'string') continue;
      const path = `world.accounts[${accountIndex}].keys[${keyIndex}].key`;
      const digest = hash('sha256', entry.key);
      const isTaken = routes.hasKey(digest);
      claims.push({ id: `key:${digest}`, isTaken, refusal: keyInUse(path) });
    }
  }
  return claims;
}

function listOf<T>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? value : [];
}
