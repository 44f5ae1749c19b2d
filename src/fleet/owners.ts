/**
 * Which shard owns each account of a world that spans all shards. No account moves: a file keeps
 * what the start has placed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { firstWorldId } from '../worlds/worlds.ts';
import { keysOf, type Parts } from './routes.ts';
import type { ReplyOf, Shard } from './shard.ts';

export interface OwnersOptions {
  /** True if accounts without a SIM influence each other: they then share a shard. */
  readonly couplesPool: boolean;
  /** Undefined without journals. */
  readonly ownersFile: string | undefined;
}

export class Owners {
  readonly #parts: Parts;
  readonly #options: OwnersOptions;
  #accounts: ReplyOf<'accounts.list'>['accounts'] = [];
  #places: Record<string, number> = {};

  constructor(parts: Parts, options: OwnersOptions) {
    this.#parts = parts;
    this.#options = options;
    const { ownersFile } = options;
    if (ownersFile !== undefined && existsSync(ownersFile)) {
      this.#places = JSON.parse(readFileSync(ownersFile, 'utf8')) as Record<string, number>;
    } else this.#placeAll();
  }

  readonly of = (accountId: string): Shard => {
    const { shards } = this.#parts;
    return shards[this.#places[accountId] ?? this.#placeOf(accountId)] ?? shards[0];
  };

  /** Of the account with this id or name. */
  called(idOrName: string): Shard {
    const called = this.#accounts.find(
      ({ account_id: id, name }) => id === idOrName.toLowerCase() || name === idOrName,
    );
    return called === undefined ? this.#parts.shards[0] : this.of(called.account_id);
  }

  /** Of the account of this key. */
  async ofKey(keyId: string): Promise<Shard> {
    const owned = await this.keys();
    const key = owned.find(({ key_id: id }) => id === keyId);
    return key === undefined ? this.#parts.shards[0] : this.of(key.account_id);
  }

  /** Reads all accounts and keys, and routes by them. */
  async read(): Promise<void> {
    const { shards, routes } = this.#parts;
    const { accounts } = await shards[0].read('accounts.list');
    this.#accounts = accounts;
    const created = accounts.filter(({ account_id: id }) => this.#places[id] === undefined);
    for (const { account_id: id } of created) this.#places[id] = this.#placeOf(id);
    if (created.length > 0) this.#remember();
    await routes.routeFirst(await this.keys(), this.of);
  }

  /** Of each account, as its owner has them. */
  async keys() {
    const { shards } = this.#parts;
    const keys = await Promise.all(shards.map((shard) => keysOf(shard, firstWorldId)));
    return keys.flatMap((list = [], at) =>
      list.filter(({ account_id: id }) => this.of(id) === shards[at]),
    );
  }

  /** Where an account goes that is created later. */
  #placeOf(accountId: string): number {
    // It has no SIM yet.
    if (this.#options.couplesPool) return 0;
    return Number.parseInt(accountId.slice(0, 8), 16) % this.#parts.shards.length;
  }

  /** The accounts of the start, in turn. */
  #placeAll(): void {
    const { shards } = this.#parts;
    let next = 0;
    for (const { account_id: id, sims } of shards[0].ready.accounts) {
      const isCoupled = this.#options.couplesPool && sims.length === 0;
      this.#places[id] = isCoupled ? 0 : next++ % shards.length;
    }
    this.#remember();
  }

  #remember(): void {
    const { ownersFile } = this.#options;
    if (ownersFile !== undefined) writeFileSync(ownersFile, JSON.stringify(this.#places));
  }
}
