/**
 * Which shard has each world and each key, as the shards themselves say. HAProxy's maps follow.
 * Nothing moves: a world stays on the shard that it was created on.
 */
import { routeOf } from '../operations/table.ts';
import { prefixOf } from '../worlds/address.ts';
import { firstWorldId } from '../worlds/worlds.ts';
import type { Haproxy, MapChange } from './haproxy.ts';
import type { ReplyOf, Shard } from './shard.ts';

export type WorldView = ReplyOf<'worlds.list'>['worlds'][number];
type KeyView = ReplyOf<'accounts.allKeys'>['keys'][number];

type Placed = WorldView & {
  readonly shard: Shard;
  /** The digests of its valid keys. */
  readonly keys: ReadonlySet<string>;
};

/** What the fleet is made of. */
export interface Parts {
  readonly shards: readonly [Shard, ...Shard[]];
  readonly routes: Routes;
  readonly haproxy: Haproxy;
}

/** Worlds of which the keys are read at one time. */
const readAtOnce = 16;

export class Routes {
  readonly #haproxy: Haproxy;
  readonly #worlds = new Map<string, Placed>();
  /** The keys of the first world, if it spans all shards. */
  #ofFirst: ReadonlyMap<string, Shard> = new Map();

  constructor(haproxy: Haproxy) {
    this.#haproxy = haproxy;
  }

  get size(): number {
    return this.#worlds.size;
  }

  /** In the order of their creation. */
  get worlds(): readonly Placed[] {
    return [...this.#worlds.values()];
  }

  /** When the first of them may expire, in epoch milliseconds. */
  get nextExpiryMs(): number | undefined {
    const times = this.worlds.flatMap(({ expires_at: at }) =>
      at === null ? [] : [Date.parse(at)],
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  shardOf(worldId: string): Shard | undefined {
    return this.#worlds.get(worldId)?.shard;
  }

  /** True if a world has this name (`name:…`) or a key with this digest (`key:…`). */
  isTaken(nameOrKey: string): boolean {
    const text = nameOrKey.slice(nameOrKey.indexOf(':') + 1);
    if (nameOrKey.startsWith('key:')) return this.#haproxy.maps.keys.has(digestOf(text));
    return this.worlds.some(({ name }) => name === text);
  }

  /** Reads all worlds of a shard, and the keys of those that are new. */
  async readShard(shard: Shard): Promise<void> {
    const { worlds } = await shard.read('worlds.list');
    const listed = new Set(worlds.map(({ world_id: id }) => id));
    const gone = this.worlds.filter((each) => each.shard === shard && !listed.has(each.world_id));
    for (const { world_id: id } of gone) await this.forget(id);
    for (let at = 0; at < worlds.length; at += readAtOnce) {
      await Promise.all(
        worlds.slice(at, at + readAtOnce).map((view) => this.#readView(shard, view)),
      );
    }
  }

  /** Reads a world that was just created, or whose keys may be others now. */
  async readWorld(shard: Shard, view: WorldView): Promise<void> {
    const { world_id: id } = view;
    const found = await keysOf(shard, id);
    // A world may expire as its keys are read.
    if (found === undefined) return this.forget(id);
    const before = this.#worlds.get(id)?.keys ?? [];
    const valid = found.filter(({ revoked_at: revokedAt }) => revokedAt === null);
    const keys = new Set(valid.map(({ sha256 }) => digestOf(sha256)));
    this.#worlds.set(id, { ...view, shard, keys });
    await this.#haproxy.change([
      { map: 'worlds', key: id, value: shard.name },
      ...this.#keyChanges(before, new Map([...keys].map((key) => [key, shard]))),
    ]);
  }

  async readKeysOf(worldId: string): Promise<void> {
    const placed = this.#worlds.get(worldId);
    if (placed !== undefined) await this.readWorld(placed.shard, placed);
  }

  /** Removes a world from every map. */
  async forget(worldId: string): Promise<void> {
    const keys = this.#worlds.get(worldId)?.keys ?? [];
    this.#worlds.delete(worldId);
    await this.#haproxy.change([
      { map: 'worlds', key: worldId, value: undefined },
      ...this.#keyChanges(keys, new Map()),
    ]);
  }

  /** The keys of a first world that spans all shards, each with the shard of its account. */
  async routeFirst(keys: readonly KeyView[], ownerOf: (accountId: string) => Shard): Promise<void> {
    const before = this.#ofFirst;
    this.#ofFirst = new Map(
      keys
        .filter(({ revoked_at: revokedAt }) => revokedAt === null)
        .map(({ sha256, account_id: id }) => [digestOf(sha256), ownerOf(id)]),
    );
    await this.#haproxy.change(this.#keyChanges(before.keys(), this.#ofFirst));
  }

  async #readView(shard: Shard, view: WorldView): Promise<void> {
    const placed = this.#worlds.get(view.world_id);
    if (placed === undefined) await this.readWorld(shard, view);
    else this.#worlds.set(view.world_id, { ...placed, ...view });
  }

  /** These keys take the place of those before; a key of the first world stays its own. */
  #keyChanges(before: Iterable<string>, now: ReadonlyMap<string, Shard>): readonly MapChange[] {
    return [...new Set([...before, ...now.keys()])].map((key) => {
      const shard = this.#ofFirst.get(key) ?? now.get(key);
      return { map: 'keys', key, value: shard?.name };
    });
  }
}

/** The keys of a world; undefined if there is no such world. */
export async function keysOf(
  shard: Shard,
  worldId: string,
): Promise<readonly KeyView[] | undefined> {
  const prefix = worldId === firstWorldId ? '' : prefixOf(worldId);
  const path = `${prefix}${routeOf('accounts.allKeys').path}`;
  const { status, body } = await shard.ask({ method: 'GET', path });
  return status === 200 ? (JSON.parse(body) as { keys: readonly KeyView[] }).keys : undefined;
}

/** As HAProxy's converter writes it. */
function digestOf(sha256: string): string {
  return sha256.toUpperCase();
}
