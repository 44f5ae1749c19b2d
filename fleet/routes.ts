/**
 * Which shard has each world and each API key, as the shards list them. Keeps HAProxy's maps, by
 * which it routes requests, equal to that. A world stays on the shard that created it.
 */
import { routeOf } from '#src/operations/table.ts';
import { prefixOf } from '#src/worlds/address.ts';
import { firstWorldId } from '#src/worlds/worlds.ts';
import type { Haproxy, MapChange } from './haproxy.ts';
import type { ReplyOf, Shard } from './shard.ts';

export type WorldView = ReplyOf<'worlds.list'>['worlds'][number];
type KeyView = ReplyOf<'accounts.allKeys'>['keys'][number];

type RoutedWorld = WorldView & {
  readonly shard: Shard;
  readonly keys: ReadonlySet<string>;
};

export interface FleetParts {
  readonly shards: readonly [Shard, ...Shard[]];
  readonly routes: Routes;
  readonly haproxy: Haproxy;
}

/** The worlds whose keys are read at the same time. */
const readAtOnce = 16;

export class Routes {
  readonly #haproxy: Haproxy;
  /** The worlds by id, in the order of their creation. */
  readonly #worlds = new Map<string, RoutedWorld>();
  /** The shard of each key, by digest, of a first world that spans all shards. Otherwise empty. */
  #firstKeys: ReadonlyMap<string, Shard> = new Map();

  constructor(haproxy: Haproxy) {
    this.#haproxy = haproxy;
  }

  get size(): number {
    return this.#worlds.size;
  }

  get worlds(): readonly RoutedWorld[] {
    return [...this.#worlds.values()];
  }

  /** When a world may expire next, in epoch milliseconds; Infinity if none expires. */
  get nextExpiryMs(): number {
    return Math.min(
      ...this.worlds.flatMap(({ expires_at: at }) => (at === null ? [] : Date.parse(at))),
    );
  }

  shardOf(worldId: string): Shard | undefined {
    return this.#worlds.get(worldId)?.shard;
  }

  hasName(name: string): boolean {
    return this.worlds.some((world) => world.name === name);
  }

  /** True if a world has a key with this digest. */
  hasKey(digest: string): boolean {
    return this.#haproxy.maps.keys.has(mapKeyOf(digest));
  }

  /** Reads the list of worlds of a shard, and the keys of new worlds. Forgets worlds that ended. */
  async readShard(shard: Shard): Promise<void> {
    // A world that is created while the list is read may be missing from it.
    const before = this.worlds.filter((world) => world.shard === shard);
    const { worlds } = await shard.read('worlds.list');
    const listed = new Set(worlds.map(({ world_id: id }) => id));
    for (const { world_id: id } of before) if (!listed.has(id)) await this.forget(id);
    for (let start = 0; start < worlds.length; start += readAtOnce) {
      const views = worlds.slice(start, start + readAtOnce);
      await Promise.all(views.map((view) => this.#noteView(shard, view)));
    }
  }

  /** Reads the keys of a world that is new, or whose keys may have changed, and routes them. */
  async readKeys(shard: Shard, view: WorldView): Promise<void> {
    const { world_id: id } = view;
    const views = await keysOf(shard, id);
    // A world may expire as its keys are read.
    if (views === undefined) return this.forget(id);
    const before = this.#worlds.get(id)?.keys ?? [];
    const valid = views.filter(({ revoked_at: revokedAt }) => revokedAt === null);
    const keys = new Set(valid.map(({ sha256 }) => mapKeyOf(sha256)));
    this.#worlds.set(id, { ...view, shard, keys });
    await this.#haproxy.change([
      { map: 'worlds', key: id, value: shard.name },
      ...this.#keyChanges(before, new Map([...keys].map((key) => [key, shard]))),
    ]);
  }

  async readKeysOf(worldId: string): Promise<void> {
    const world = this.#worlds.get(worldId);
    if (world !== undefined) await this.readKeys(world.shard, world);
  }

  async forget(worldId: string): Promise<void> {
    const keys = this.#worlds.get(worldId)?.keys ?? [];
    this.#worlds.delete(worldId);
    await this.#haproxy.change([
      { map: 'worlds', key: worldId, value: undefined },
      ...this.#keyChanges(keys, new Map()),
    ]);
  }

  /**
   * Routes the keys of a first world that spans all shards, each to the shard of its account. No
   * other world has one of these keys, because keys are unique in a fleet.
   */
  async routeFirst(keys: readonly KeyView[], ownerOf: (accountId: string) => Shard): Promise<void> {
    const before = this.#firstKeys;
    this.#firstKeys = new Map(
      keys
        .filter(({ revoked_at: revokedAt }) => revokedAt === null)
        .map(({ sha256, account_id: id }) => [mapKeyOf(sha256), ownerOf(id)]),
    );
    const changes = this.#keyChanges(before.keys(), this.#firstKeys);
    const ofFirst = changes.map((change) => ({ ...change, map: 'first_keys' as const }));
    await this.#haproxy.change([...changes, ...ofFirst]);
  }

  async #noteView(shard: Shard, view: WorldView): Promise<void> {
    const world = this.#worlds.get(view.world_id);
    if (world === undefined) await this.readKeys(shard, view);
    else this.#worlds.set(view.world_id, { ...world, ...view });
  }

  /** The changes of the map `keys`; a key that the first world has stays routed to it. */
  #keyChanges(before: Iterable<string>, now: ReadonlyMap<string, Shard>): readonly MapChange[] {
    return [...new Set([...before, ...now.keys()])].map((key) => {
      const shard = this.#firstKeys.get(key) ?? now.get(key);
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
  const reply = await shard.ask({ method: 'GET', path });
  return reply.status === 200 ? shard.parse('accounts.allKeys', reply).keys : undefined;
}

/** The digest in capitals, as HAProxy's converter `hex` writes that of the key in a request. */
function mapKeyOf(sha256: string): string {
  return sha256.toUpperCase();
}
