/**
 * A first world that spans all shards, by account. Every shard has all accounts, SIMs and the pool,
 * with the same ids and phases; requests of an account reach one shard alone, its owner. So each
 * account's replies are byte for byte those of one process. What changes the world happens on every
 * shard (`changes.ts`), what only shows it is answered by the owner, or joined.
 */
import { errorReply, type FoundOperation } from '../control/look-up.ts';
import type { ControlReply, ControlRequest } from '../http/transport/transport.ts';
import type { Operation } from '../operations/define.ts';
import { type OperationName, routeOf } from '../operations/table.ts';
import { type Answer, type Asked, askedOf, jsonOf } from './ask.ts';
import { Changes, type How } from './changes.ts';
import { joined, shardNumber } from './join.ts';
import { Owners, type OwnersOptions } from './owners.ts';
import { refuseInexact } from './refusals.ts';
import { changedReply, okReply, openEvents, passedReply } from './replies.ts';
import type { Parts } from './routes.ts';
import type { Shard } from './shard.ts';
import { WideClock } from './wide-clock.ts';
import { pageOfMessages, waitForMessages } from './wide-messages.ts';

export interface WideOptions extends OwnersOptions {
  /** Keeps the changes that some shard has still to make; undefined without journals. */
  readonly changesFile: string | undefined;
  readonly baseUrl: string;
}

export class Wide {
  readonly #parts: Parts;
  readonly #baseUrl: string;
  readonly #owners: Owners;
  readonly #changes: Changes;
  readonly #clock: WideClock;

  private constructor(parts: Parts, options: WideOptions) {
    this.#parts = parts;
    this.#baseUrl = options.baseUrl;
    this.#owners = new Owners(parts, options);
    this.#changes = new Changes(parts, options.changesFile);
    this.#clock = new WideClock(parts.shards, this.#changes);
  }

  static async start(parts: Parts, options: WideOptions): Promise<Wide> {
    const wide = new Wide(parts, options);
    await Promise.all(parts.shards.map((shard) => wide.#changes.catchUp(shard)));
    const { mode } = await wide.#clock.state();
    if (mode !== 'real') await wide.#clock.meet();
    await wide.#owners.read();
    return wide;
  }

  /** True while requests wait for a change. */
  get isHolding(): boolean {
    return this.#changes.isHolding;
  }

  /** Brings a shard that was started again to the state and time of the others. */
  async resume(shard: Shard): Promise<void> {
    // A change that waits for the shard goes on when it is there.
    if (!this.isHolding) await this.#changes.catchUp(shard);
    await this.#clock.resume(shard);
  }

  async answer(found: FoundOperation, request: ControlRequest): Promise<ControlReply> {
    const { operation, id } = found;
    const { shards } = this.#parts;
    const asked = askedOf(request);
    if (operation.ofShard === true) return this.#ofShard(operation, request);
    if (operation.contentType === 'text/event-stream') return openEvents(shards, asked);
    const given = jsonOf(request);
    refuseInexact(operation, given);
    switch (operation.name as OperationName) {
      case 'clock.advance':
        return okReply(await this.#clock.advance(given));
      case 'clock.setMode': {
        const answer = await this.#clock.setMode(asked);
        if (answer.status !== 200) return passedReply(answer);
        return this.#merged('clock.state', routeOf('clock.state'));
      }
      case 'messages.wait':
        return waitForMessages(shards, this.#clock, given);
      case 'requests.get': {
        const { number, shard } = shardNumber(Number(id), shards.length);
        const path = asked.path.replace(String(id), String(number));
        const answer = await (shards[shard] ?? shards[0]).ask({ ...asked, path });
        // The refusal of any shard, with the number that was asked for.
        if (answer.status !== 200) {
          return passedReply({ ...answer, body: answer.body.replace(String(number), String(id)) });
        }
        return changedReply(answer, (view: object) => ({ ...view, number: Number(id) }));
      }
      case 'worlds.get':
        return this.#merged(operation.name, asked);
      default:
    }
    switch (operation.scope) {
      case 'local':
        return passedReply(await shards[0].ask(asked));
      case 'all':
        return this.#everywhere(operation, asked, { first: shards[0] });
      case 'merged': {
        const named = accountIn(request, given);
        if (named !== undefined) return passedReply(await this.#owners.called(named).ask(asked));
        if (operation.name === 'messages.page') return pageOfMessages(shards, request);
        return this.#merged(operation.name, asked);
      }
      default:
        return this.#byOwner(found, asked);
    }
  }

  async #ofShard(operation: Operation, request: ControlRequest): Promise<ControlReply> {
    const { shards } = this.#parts;
    const query = new URLSearchParams(request.query);
    const named = query.get('shard');
    const shard = named === null ? undefined : shards[Number(named)];
    if (shard === undefined) {
      const message = `each shard of a wide world has its own: add ?shard=N, from 0 to ${shards.length - 1}`;
      return errorReply(409, 'conflict', message, 'shard');
    }
    query.delete('shard');
    const answer = await shard.ask(askedOf(request, '', query.toString()));
    if (operation.changesKeys === true) await this.#owners.read();
    return passedReply(answer);
  }

  async #merged(name: string, asked: Asked): Promise<ControlReply> {
    const answers = await Promise.all(this.#parts.shards.map((shard) => shard.ask(asked)));
    const refusal = answers.find(({ status }) => status !== 200);
    if (refusal !== undefined) return passedReply(refusal);
    const whole = this.#joined(answers);
    if (name === 'simulator.state') {
      return okReply({ ...(whole as object), base_url: this.#baseUrl });
    }
    if (name === 'simulator.invariants') {
      // Every shard has the keys of the start, and only the owner those that were created later.
      const { checked } = whole as { readonly checked: object };
      const keys = (await this.#owners.keys()).length;
      return okReply({ ...(whole as object), checked: { ...checked, keys } });
    }
    return okReply(whole);
  }

  #joined(answers: readonly Answer[]) {
    const bodies = answers.map(({ body }) => JSON.parse(body) as unknown);
    return joined(bodies, { shards: this.#parts.shards, ownerOf: this.#owners.of });
  }

  /** On the shard that has the account, message, SIM or key; what changes it, on the others, too. */
  async #byOwner({ operation, id = '' }: FoundOperation, asked: Asked): Promise<ControlReply> {
    const { shards } = this.#parts;
    switch (operation.target) {
      case undefined:
        return this.#everywhere(operation, asked, { first: shards[0] });
      case 'account_id': {
        const first = this.#owners.called(id);
        // Another shard would draw another key, and later the text of one that was revoked.
        const isOfOwner = operation.name === 'accounts.createKey';
        return this.#everywhere(operation, asked, { first, ...(isOfOwner && { shards: [first] }) });
      }
      case 'key_id':
        return this.#everywhere(operation, asked, { first: await this.#owners.ofKey(id) });
      case 'device_id':
        return this.#onDevice(operation, asked, id);
      default: {
        const [first, ...others] = shards;
        let answer = await first.ask(asked);
        for (const shard of others) if (answer.status === 404) answer = await shard.ask(asked);
        return passedReply(answer);
      }
    }
  }

  /** A SIM that was created later has another id on each shard: its number tells which it is. */
  async #onDevice(operation: Operation, asked: Asked, id: string): Promise<ControlReply> {
    const { shards } = this.#parts;
    const lists = await Promise.all(
      shards.map(async (shard) => (await shard.read('sims.all')).sims),
    );
    const at = shards.findIndex((shard, place) =>
      lists[place]?.some(
        ({ device_id: own, account_id: account }) =>
          own === id && (account === null || this.#owners.of(account) === shard),
      ),
    );
    const first = shards[at] ?? shards[0];
    const sim = lists[at]?.find(({ device_id: own }) => own === id);
    const isOfPool = sim?.account_id === null;
    if (!operation.recorded && isOfPool) return this.#merged(operation.name, asked);
    if (!isOfPool && operation.verb !== 'DELETE') return passedReply(await first.ask(asked));
    const askedOf = ({ index }: Shard) => {
      const own = lists[index]?.find(({ number }) => number === sim?.number);
      return { ...asked, path: asked.path.replace(id, own?.device_id ?? id) };
    };
    return this.#everywhere(operation, asked, { first, askedOf });
  }

  async #everywhere(operation: Operation, asked: Asked, how: How): Promise<ControlReply> {
    if (!operation.recorded)
      return passedReply(await (how.first ?? this.#parts.shards[0]).ask(asked));
    return this.#changes.exclusively(async () => {
      const answers = await this.#changes.make(asked, how);
      const [answer] = answers as readonly [Answer];
      if (answer.status >= 300) return passedReply(answer);
      if (operation.name === 'simulator.reset') await this.#clock.meet();
      const isOfAccounts = operation.changesKeys === true || operation.name.startsWith('accounts.');
      if (isOfAccounts) await this.#owners.read();
      return operation.name === 'sims.poll' ? okReply(this.#joined(answers)) : passedReply(answer);
    });
  }
}

/** The account that a query or a body names. */
function accountIn(request: ControlRequest, given: unknown): string | undefined {
  const query = new URLSearchParams(request.query);
  const body = (given ?? {}) as { account_id?: unknown; account?: unknown };
  const named = query.get('account_id') ?? query.get('account') ?? body.account_id ?? body.account;
  return typeof named === 'string' ? named : undefined;
}
