/**
 * Creates worlds, each on the shard with the fewest messages. Names and explicit keys are unique in
 * the whole fleet, also among worlds that are created at the same time.
 */
import { sha256 } from '#io/digest.ts';
import { type OperationRefused, refuseMore } from '#src/sim/errors.ts';
import { keyInUse, nameInUse } from '#src/worlds/hosted-world.ts';
import { mostWorlds } from '#src/worlds/worlds.ts';
import type { ShardReply, ShardRequest } from './ask.ts';
import type { Routes } from './routes.ts';
import { type Shard, ShardUnavailable } from './shard.ts';

/** The messages of the shards are counted at most this often. */
const countEveryMs = 1_000;
/** Adds to the messages of a shard: all worlds together weigh less than one message. */
const burdenOfWorld = 1 / (mostWorlds + 1);

export class NewWorlds {
  readonly #shards: readonly [Shard, ...Shard[]];
  readonly #routes: Routes;
  /** Names and keys of worlds that are being created, as `claimsOf` writes them. */
  readonly #reserved = new Set<string>();
  /** How full each shard is. Infinity: it takes no new world. */
  readonly #burdens = new Map<Shard, number>();
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(shards: readonly [Shard, ...Shard[]], routes: Routes) {
    this.#shards = shards;
    this.#routes = routes;
  }

  /**
   * Creates a world. `input`: the parsed body of `request`; `origin`: the shard of the world that
   * it copies, where it must be. Throws an OperationRefused.
   */
  async create(
    request: ShardRequest,
    input: unknown,
    origin: Shard | undefined,
  ): Promise<ShardReply> {
    refuseMore(this.#routes.size, mostWorlds, 'worlds');
    const claims = claimsOf(input);
    for (const { name, refusal } of claims) {
      if (this.#reserved.has(name) || this.#routes.isTaken(name)) throw refusal;
    }
    for (const { name } of claims) this.#reserved.add(name);
    try {
      if (origin !== undefined) return await this.#createOn(origin, request);
      for (let tries = this.#shards.length; ; tries--) {
        const shard = await this.#chooseEmptiest();
        const reply = await this.#createOn(shard, request);
        if (reply.status !== 503 || tries === 1) return reply;
        // Its disk is full: it keeps its worlds, and new ones go elsewhere.
        this.#burdens.set(shard, Number.POSITIVE_INFINITY);
      }
    } finally {
      for (const { name } of claims) this.#reserved.delete(name);
    }
  }

  async #createOn(shard: Shard, request: ShardRequest): Promise<ShardReply> {
    try {
      const reply = await shard.ask(request);
      if (reply.status === 201) {
        await this.#routes.readWorld(shard, shard.parse('worlds.create', reply));
      }
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
      await Promise.all(this.#shards.map((shard) => this.#updateBurden(shard)));
    }
    const burdenOf = (shard: Shard) => this.#burdens.get(shard) ?? 0;
    const emptiest = this.#shards.reduce((a, b) => (burdenOf(b) < burdenOf(a) ? b : a));
    this.#burdens.set(emptiest, burdenOf(emptiest) + burdenOfWorld);
    return emptiest;
  }

  async #updateBurden(shard: Shard): Promise<void> {
    if (shard.state !== 'ready') {
      this.#burdens.set(shard, Number.POSITIVE_INFINITY);
      return;
    }
    await this.#routes.readShard(shard);
    const { retention } = await shard.read('simulator.state');
    const worlds = this.#routes.worlds.filter((world) => world.shard === shard);
    const inWorlds = worlds.reduce((sum, { messages }) => sum + messages, 0);
    this.#burdens.set(shard, retention.held + inWorlds + worlds.length * burdenOfWorld);
  }
}

/** The body of a request to create a world; it is not validated. */
interface NewWorldInput {
  readonly name?: unknown;
  readonly world?: {
    readonly accounts?: readonly { readonly keys?: readonly { readonly key?: unknown }[] }[];
  };
}

interface Claim {
  /** The name or id, as `Routes.isTaken` reads it. */
  readonly name: string;
  /** Thrown if another world has it. */
  readonly refusal: OperationRefused;
}

function claimsOf(input: unknown): readonly Claim[] {
  const { name, world } = (input ?? {}) as NewWorldInput;
  const claims: Claim[] = [];
  if (typeof name === 'string') claims.push({ name: `name:${name}`, refusal: nameInUse(name) });
  for (const [accountIndex, account] of listOf(world?.accounts).entries())
    for (const [keyIndex, entry] of listOf(account?.keys).entries()) {
      if (typeof entry?.key !== 'string') continue;
      const path = `world.accounts[${accountIndex}].keys[${keyIndex}].key`;
      claims.push({ name: `key:${sha256(entry.key)}`, refusal: keyInUse(path) });
    }
  return claims;
}

function listOf<T>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? value : [];
}
