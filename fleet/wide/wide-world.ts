/**
 * A wide world: a first world that spans all shards. Every shard has all accounts, SIMs and the
 * pool, with the same ids and polling times; requests of an account reach only its owner. Replies
 * are therefore byte for byte those of one process. An operation that changes the world runs on
 * every shard (`../changes.ts`); one that reads it is answered by the owner, or by all, joined.
 */
import { errorReply, type FoundOperation } from '#src/control/look-up.ts';
import type { ControlReply, ControlRequest } from '#src/http/transport/transport.ts';
import type { Operation } from '#src/operations/define.ts';
import { clock } from '#src/operations/service/clock.ts';
import { type OperationName, routeOf } from '#src/operations/table.ts';
import {
  changedReply,
  okReply,
  parseBody,
  passedReply,
  requestForShard,
  type ShardReply,
  type ShardRequest,
} from '../ask.ts';
import { type ChangeOptions, Changes } from '../changes.ts';
import { type Joining, joinBodies, openEvents } from '../join.ts';
import { Owners, type OwnersOptions } from '../owners.ts';
import { refuseInexact } from '../refusals.ts';
import type { FleetParts } from '../routes.ts';
import type { ReplyOf, Shard } from '../shard.ts';
import { WideClock } from './wide-clock.ts';
import { pageOfMessages, requestDetail, waitForMessages } from './wide-reads.ts';

interface WideWorldOptions extends OwnersOptions {
  /** Lists the changes that shards have still to make; undefined without journals. */
  readonly changesFile: string | undefined;
  readonly baseUrl: string;
}

/** An operation that a client asks of the world. */
interface Call {
  readonly operation: Operation;
  /** The id in the path; empty if the operation has none. */
  readonly id: string;
  readonly request: ControlRequest;
  /** The parsed body; undefined for an operation on one named shard. */
  readonly input: unknown;
  /** The same request, as a shard gets it. */
  readonly shardRequest: ShardRequest;
}

/** How long the lists may be that an operation asks for. */
type ListBounds = Pick<Joining, 'limit' | 'most'>;

/** How the replies of all shards become one. */
interface Merging {
  /** The request for each shard, if theirs differ. */
  readonly requestFor?: (shard: Shard) => ShardRequest;
  readonly complete?: (joined: object) => object | Promise<object>;
}

export class WideWorld {
  readonly #parts: FleetParts;
  readonly #baseUrl: string;
  readonly #owners: Owners;
  readonly #changes: Changes;
  readonly #clock: WideClock;

  private constructor(parts: FleetParts, options: WideWorldOptions) {
    this.#parts = parts;
    this.#baseUrl = options.baseUrl;
    this.#owners = new Owners(parts, options);
    this.#changes = new Changes(parts, options.changesFile);
    this.#clock = new WideClock(parts.shards, this.#changes);
  }

  /** Completes the changes of a fleet that was killed, and brings all clocks to one time. */
  static async start(parts: FleetParts, options: WideWorldOptions): Promise<WideWorld> {
    const wide = new WideWorld(parts, options);
    await Promise.all(parts.shards.map((shard) => wide.#changes.catchUp(shard)));
    const { mode } = await wide.#clock.state();
    if (mode !== 'real') await wide.#clock.synchronize();
    await wide.#owners.update();
    return wide;
  }

  get isHolding(): boolean {
    return this.#changes.isHolding;
  }

  /** Brings a shard that has started again up to date. */
  async resume(shard: Shard): Promise<void> {
    // A change that is under way catches up with the shard itself.
    if (!this.isHolding) await this.#changes.catchUp(shard);
    await this.#clock.resume(shard);
  }

  /**
   * Answers an operation on the world: by the scope that it declares (`InFleet`), and if that is an
   * owner, by what its path names. A few are answered by their name.
   */
  async answer(
    { operation, id = '' }: FoundOperation,
    request: ControlRequest,
  ): Promise<ControlReply> {
    const shardRequest = requestForShard(request);
    if (operation.contentType === 'text/event-stream')
      return openEvents(this.#parts.shards, shardRequest);
    // The body of a snapshot is long, and is passed to its shard unparsed.
    const input = operation.fleet.scope === 'named' ? undefined : parseBody(request);
    refuseInexact(operation, input);
    return this.#answerByName({ operation, id, request, input, shardRequest });
  }

  async #answerByName(call: Call): Promise<ControlReply> {
    const { operation, id, input, shardRequest } = call;
    const { shards } = this.#parts;
    switch (operation.name as OperationName) {
      case 'clock.advance':
        return okReply(await this.#clock.advance(input));
      case 'clock.setMode': {
        const reply = await this.#clock.setMode(shardRequest);
        if (reply.status !== 200) return passedReply(reply);
        // Its reply is the state of the clock, which is read of all shards.
        const reading = { operation: clock.state, shardRequest: routeOf('clock.state') };
        return this.#merged({ ...call, ...reading });
      }
      case 'messages.wait':
        return waitForMessages(shards, this.#clock, input);
      case 'requests.get':
        return requestDetail(shards, id, shardRequest);
      case 'worlds.get':
        // The world itself, a part of which each shard has.
        return this.#merged(call);
      case 'simulator.state':
        return this.#merged(call, {
          complete: (state) => ({ ...state, base_url: this.#baseUrl }),
        });
      case 'simulator.invariants':
        return this.#merged(call, {
          complete: (joined) =>
            this.#withInvariantsOfOwners(joined as ReplyOf<'simulator.invariants'>),
        });
      default:
        return this.#answerByScope(call);
    }
  }

  async #answerByScope(call: Call): Promise<ControlReply> {
    const { operation, request, shardRequest } = call;
    const { shards } = this.#parts;
    switch (operation.fleet.scope) {
      case 'local':
        return passedReply(await shards[0].ask(shardRequest));
      case 'all':
        return this.#onShards(call);
      case 'merged': {
        const account = accountIn(call);
        if (account !== undefined)
          return passedReply(await this.#owners.ownerOfNamed(account).ask(shardRequest));
        return operation.name === 'messages.page'
          ? pageOfMessages(shards, request)
          : this.#merged(call);
      }
      case 'owner':
        return this.#answerByTarget(call);
      case 'named':
        return this.#askNamedShard(call);
    }
  }

  /**
   * Makes a change on the shards, by default on all of them with the first one before the others.
   * An operation that changes nothing is asked of that one alone.
   */
  async #onShards({ operation, shardRequest }: Call, options: ChangeOptions = {}) {
    const { first = this.#parts.shards[0] } = options;
    if (!operation.recorded) return passedReply(await first.ask(shardRequest));
    return this.#changes.exclusively(async () => {
      const replies = await this.#changes.make(shardRequest, { ...options, first });
      const [reply] = replies as readonly [ShardReply];
      if (reply.status >= 300) return passedReply(reply);
      if (operation.name === 'simulator.reset') await this.#clock.synchronize();
      if (operation.fleet.changesRoutes === true) await this.#owners.update();
      if (operation.fleet.joined === undefined) return passedReply(reply);
      return changedReply(reply, () => this.#joinReplies(operation, replies));
    });
  }

  /** An operation on what its path names: the shard that has it answers first. */
  async #answerByTarget(call: Call): Promise<ControlReply> {
    const { operation, id } = call;
    switch (operation.target) {
      case undefined:
        return this.#onShards(call);
      case 'account_id': {
        const first = this.#owners.ownerOfNamed(id);
        // Another shard would draw another key, and later repeat the text of a revoked one.
        const isOfOwner = operation.name === 'accounts.createKey';
        return this.#onShards(call, { first, ...(isOfOwner && { shards: [first] }) });
      }
      case 'key_id':
        return this.#onShards(call, { first: await this.#owners.ownerOfKey(id) });
      case 'device_id':
        return this.#askOrChangeSim(call);
      // No operation of an owner has these two: they only complete the list for the compiler.
      case 'fault_id':
      case 'number':
      case 'message_id':
      case 'world_id':
        return this.#askUntilFound(call);
    }
  }

  /** Asks the shard that the query names for what each has of its own, such as a snapshot. */
  async #askNamedShard({ operation, request }: Call): Promise<ControlReply> {
    const { shards } = this.#parts;
    const query = new URLSearchParams(request.query);
    const index = query.get('shard') ?? '';
    // Without this test an empty text would be shard 0.
    const shard = /^\d+$/.test(index) ? shards[Number(index)] : undefined;
    if (shard === undefined) {
      const message = `each shard of a wide world has its own: add ?shard=N, from 0 to ${shards.length - 1}`;
      return errorReply(409, 'conflict', message, { path: 'shard' });
    }
    query.delete('shard');
    const reply = await shard.ask(requestForShard(request, { query: query.toString() }));
    if (operation.fleet.changesRoutes === true) await this.#owners.update();
    return passedReply(reply);
  }

  async #merged(
    { operation, request, shardRequest }: Call,
    { requestFor = () => shardRequest, complete = (joined) => joined }: Merging = {},
  ): Promise<ControlReply> {
    const { shards } = this.#parts;
    const replies = await Promise.all(shards.map((shard) => shard.ask(requestFor(shard))));
    const refusal = replies.find(({ status }) => status !== 200);
    if (refusal !== undefined) return passedReply(refusal);
    const query = Object.fromEntries(new URLSearchParams(request.query));
    const bounds = (operation.input?.safeParse(query).data ?? {}) as ListBounds;
    return okReply(await complete(this.#joinReplies(operation, replies, bounds) as object));
  }

  #joinReplies(
    { fleet: { joined = 'equal' } }: Operation,
    replies: readonly ShardReply[],
    { limit, most }: ListBounds = {},
  ) {
    const bodies = replies.map(({ body }) => JSON.parse(body) as unknown);
    const { shards } = this.#parts;
    return joinBodies(bodies, joined, { shards, ownerOf: this.#owners.ownerOf, limit, most });
  }

  /** Every shard has the keys of the start, and only the owner those that were created later. */
  async #withInvariantsOfOwners({ broken, checked }: ReplyOf<'simulator.invariants'>) {
    const all = [...broken, ...(await this.#owners.findMisplaced())];
    const keys = (await this.#owners.readKeys()).length;
    return { sound: all.length === 0, broken: all, checked: { ...checked, keys } };
  }

  /** The fleet does not know which shard has a message or another thing, so it asks in turn. */
  async #askUntilFound({ shardRequest }: Call): Promise<ControlReply> {
    const [first, ...others] = this.#parts.shards;
    let reply = await first.ask(shardRequest);
    for (const shard of others) if (reply.status === 404) reply = await shard.ask(shardRequest);
    return passedReply(reply);
  }

  /** On all shards if the SIM is of the pool, which they share, or is deleted: each lists it. */
  async #askOrChangeSim(call: Call): Promise<ControlReply> {
    const { operation, id, shardRequest } = call;
    const { owner: first, isOfPool, idOn } = await this.#owners.findSim(id);
    if (!isOfPool && operation.verb !== 'DELETE') return passedReply(await first.ask(shardRequest));
    const { path } = shardRequest;
    const requestFor = (shard: Shard) => ({ ...shardRequest, path: path.replace(id, idOn(shard)) });
    return operation.recorded
      ? this.#onShards(call, { first, requestFor })
      : this.#merged(call, { requestFor });
  }
}

/** The account that the query or the body names, by id or name. */
function accountIn({ request, input }: Call): string | undefined {
  const query = new URLSearchParams(request.query);
  const body = (input ?? {}) as { account_id?: unknown; account?: unknown };
  const account =
    query.get('account_id') ?? query.get('account') ?? body.account_id ?? body.account;
  return typeof account === 'string' ? account : undefined;
}
