/**
 * The owner of each account of a wide world (a world that spans all shards): the shard that alone
 * serves the account's requests. Accounts never move, so a file keeps the owners for the next
 * start.
 */
import { z } from 'zod';
import { firstWorldId } from '#src/worlds/worlds.ts';
import { type FleetParts, keysOf } from './routes.ts';
import type { ReplyOf, Shard } from './shard.ts';
import { readState, writeState } from './state-file.ts';

export interface OwnersOptions {
  /** True if accounts without a SIM influence each other, so that they must share a shard. */
  readonly couplesPool: boolean;
  /** Undefined without journals. */
  readonly ownersFile: string | undefined;
}

const indexesSchema = z.record(z.uuid(), z.int().min(0));

export interface FoundSim {
  readonly owner: Shard;
  readonly isOfPool: boolean;
  readonly idOn: (shard: Shard) => string;
}

export class Owners {
  readonly #parts: FleetParts;
  readonly #options: OwnersOptions;
  #accounts: ReplyOf<'accounts.list'>['accounts'] = [];
  #shardIndexes: Record<string, number> = {};

  constructor(parts: FleetParts, options: OwnersOptions) {
    this.#parts = parts;
    this.#options = options;
    const { ownersFile } = options;
    const saved = ownersFile === undefined ? undefined : readState(ownersFile, indexesSchema);
    if (saved === undefined) this.#assignFirstAccounts();
    else this.#shardIndexes = saved;
  }

  /** The owner of an account; the one that it would get if the account was not read yet. */
  readonly ownerOf = (accountId: string): Shard => {
    const { shards } = this.#parts;
    return shards[this.#shardIndexes[accountId] ?? this.#indexForNew(accountId)] ?? shards[0];
  };

  /** The owner of the account with this id or name; the first shard if there is none. */
  ownerOfNamed(idOrName: string): Shard {
    const account = this.#accounts.find(
      ({ account_id: id, name }) => id === idOrName.toLowerCase() || name === idOrName,
    );
    return account === undefined ? this.#parts.shards[0] : this.ownerOf(account.account_id);
  }

  async ownerOfKey(keyId: string): Promise<Shard> {
    const keys = await this.readKeys();
    const key = keys.find(({ key_id: id }) => id === keyId);
    return key === undefined ? this.#parts.shards[0] : this.ownerOf(key.account_id);
  }

  /**
   * A SIM that was created later has another id on each shard: its number identifies it. Asks each
   * shard once.
   */
  async findSim(id: string): Promise<FoundSim> {
    const { shards } = this.#parts;
    const lists = await Promise.all(
      shards.map(async (shard) => (await shard.read('sims.all')).sims),
    );
    const ownerIndex = shards.findIndex((shard, index) =>
      lists[index]?.some(
        ({ device_id: deviceId, account_id: accountId }) =>
          deviceId === id && (accountId === null || this.ownerOf(accountId) === shard),
      ),
    );
    const sim = lists[ownerIndex]?.find(({ device_id: deviceId }) => deviceId === id);
    const idOn = ({ index }: Shard): string =>
      lists[index]?.find(({ number }) => number === sim?.number)?.device_id ?? id;
    return { owner: shards[ownerIndex] ?? shards[0], isOfPool: sim?.account_id === null, idOn };
  }

  /** Reads all accounts and keys, assigns new accounts, and routes requests to the owners. */
  async update(): Promise<void> {
    const { shards, routes } = this.#parts;
    const { accounts } = await shards[0].read('accounts.list');
    this.#accounts = accounts;
    const added = accounts.filter(({ account_id: id }) => this.#shardIndexes[id] === undefined);
    for (const { account_id: id } of added) this.#shardIndexes[id] = this.#indexForNew(id);
    if (added.length > 0) this.#save();
    await routes.routeFirst(await this.readKeys(), this.ownerOf);
  }

  /** The keys of all accounts, each as the owner of its account lists it. */
  async readKeys() {
    const { shards } = this.#parts;
    const lists = await Promise.all(shards.map((shard) => keysOf(shard, firstWorldId)));
    return lists.flatMap((keys = [], index) =>
      keys.filter(({ account_id: id }) => this.ownerOf(id) === shards[index]),
    );
  }

  /** A sentence for each account that has messages on a shard that is not its owner. */
  async findMisplaced(): Promise<readonly string[]> {
    const found = this.#parts.shards.map(async (shard) => {
      const { accounts } = await shard.read('accounts.list');
      return accounts
        .filter(({ account_id: id }) => this.ownerOf(id) !== shard)
        .filter(({ messages }) => Object.values(messages).some((count) => count > 0))
        .map(({ account_id: id }) => `account ${id} has messages on shard ${shard.index}, too`);
    });
    return (await Promise.all(found)).flat();
  }

  /** The owner of an account that is created after the start: a function of its id. */
  #indexForNew(accountId: string): number {
    // A new account has no SIM yet.
    if (this.#options.couplesPool) return 0;
    return Number.parseInt(accountId.slice(0, 8), 16) % this.#parts.shards.length;
  }

  #assignFirstAccounts(): void {
    const { shards } = this.#parts;
    let next = 0;
    for (const { account_id: id, sims } of shards[0].life.ready.accounts) {
      const isCoupled = this.#options.couplesPool && sims.length === 0;
      this.#shardIndexes[id] = isCoupled ? 0 : next++ % shards.length;
    }
    this.#save();
  }

  #save(): void {
    const { ownersFile } = this.#options;
    if (ownersFile !== undefined) writeState(ownersFile, this.#shardIndexes);
  }
}
