/**
 * Answers the control port of the fleet by asking the control ports of its shards. It uses the
 * table of operations of a single process: the field `fleet` of an operation says whether all
 * shards or one of them are asked, or the replies of all are joined.
 */
import { errorToReply } from '#src/control/control-api.ts';
import type { ControlAnswers } from '#src/control/control-port.ts';
import { readyReply } from '#src/control/documents.ts';
import { errorReply, type FoundOperation } from '#src/control/look-up.ts';
import type { ControlReply, ControlRequest } from '#src/http/transport/transport.ts';
import { nounOf, type Operation } from '#src/operations/define.ts';
import { routeOf } from '#src/operations/table.ts';
import { draining } from '#src/operations/worlds/simulator.ts';
import { hostUrl } from '#src/operations/worlds/world-view.ts';
import { OperationRefused } from '#src/sim/errors.ts';
import { prefixOf } from '#src/worlds/address.ts';
import { firstWorldId } from '#src/worlds/worlds.ts';
import {
  changedReply,
  okReply,
  parseBody,
  passedReply,
  requestForShard,
  type ShardReply,
} from './ask.ts';
import { openEvents } from './join.ts';
import { joinedMetrics, shardFamilies } from './metrics.ts';
import { NewWorlds } from './new-worlds.ts';
import { refuseRouted } from './refusals.ts';
import type { FleetParts, WorldView } from './routes.ts';
import { type Shard, ShardUnavailable, stopping } from './shard.ts';
import type { WideWorld } from './wide/wide-world.ts';

export interface FleetControlOptions {
  /** The URLs for a client that reached the control port by this `Host`. */
  readonly urlsFor: (host: string | undefined) => {
    readonly baseUrl: string;
    readonly controlUrl: string;
  };
  readonly wide?: WideWorld | undefined;
  /** `--max-messages` of created worlds, if each shard of a wide world starts with a part of it. */
  readonly maxMessages?: number | undefined;
  readonly onShutdown: () => void;
}

/** How long the fleet waits for the health and for the metrics of a shard. */
const healthWithinMs = 2_000;
const scrapeWithinMs = 5_000;
/** The reason in the reply to an operation during which HAProxy has stopped. */
const stoppedDuring = `${stopping}: this operation may have happened`;

export class FleetControl implements ControlAnswers {
  readonly #parts: FleetParts;
  readonly #options: FleetControlOptions;
  readonly #newWorlds: NewWorlds;

  constructor(parts: FleetParts, options: FleetControlOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#newWorlds = new NewWorlds(parts.shards, parts.routes);
  }

  readonly hasWorld = (worldId: string): boolean =>
    worldId === firstWorldId || this.#parts.routes.shardOf(worldId) !== undefined;

  /** Changes nothing: the shards have already hidden the keys in their replies. */
  readonly withoutKeys = (reply: ControlReply): ControlReply => reply;

  readonly answer = async (
    found: FoundOperation,
    request: ControlRequest,
    worldId: string | undefined,
  ): Promise<ControlReply> => {
    try {
      const { operation } = found;
      refuseRouted(operation, () => parseBody(request));
      const createdId = worldId === firstWorldId ? undefined : worldId;
      const isOfServer = createdId === undefined || nounOf(operation.name) === 'worlds';
      if (operation.fleet.ofServer === true && isOfServer)
        return await this.#onServer(found, request);
      const { shards, routes } = this.#parts;
      const { wide } = this.#options;
      if (createdId === undefined && wide !== undefined) return await wide.answer(found, request);
      const shard = createdId === undefined ? shards[0] : routes.shardOf(createdId);
      return await this.#inWorld(shard ?? shards[0], operation, request, createdId);
    } catch (error) {
      if (error instanceof ShardUnavailable) return errorReply(503, 'unavailable', error.message);
      const isRefused = error instanceof OperationRefused || !this.#parts.haproxy.isStopping;
      return isRefused ? errorToReply(error) : errorReply(503, 'unavailable', stoppedDuring);
    }
  };

  /** Passes on the reply of a world's shard. `createdId`: undefined for the first world. */
  async #inWorld(
    shard: Shard,
    operation: Operation,
    request: ControlRequest,
    createdId: string | undefined,
  ): Promise<ControlReply> {
    const prefix = createdId === undefined ? '' : prefixOf(createdId);
    const shardRequest = requestForShard(request, { prefix });
    if (operation.contentType === 'text/event-stream') return openEvents([shard], shardRequest);
    const reply = await shard.ask(shardRequest);
    if (operation.fleet.changesRoutes === true && createdId !== undefined)
      await this.#parts.routes.readKeysOf(createdId);
    if (operation.name !== 'simulator.state' || reply.status !== 200) return passedReply(reply);
    const { baseUrl } = this.#options.urlsFor(request.headers['host']);
    return changedReply(reply, (state: object) => ({ ...state, base_url: `${baseUrl}${prefix}` }));
  }

  /** An operation on the whole server: of shutdown, metrics, health and worlds. */
  async #onServer(found: FoundOperation, request: ControlRequest): Promise<ControlReply> {
    const { operation } = found;
    const { shards, haproxy } = this.#parts;
    if (operation.name === 'probes.live') return okReply({ status: 'live' });
    if (operation.name === 'probes.ready') {
      // Requests of a shard that starts again wait for it, so others need not be turned away.
      const isServed = haproxy.isReady && !haproxy.isStopping;
      return readyReply(isServed && shards.some(({ life }) => life.state === 'ready'));
    }
    switch (operation.fleet.scope) {
      case 'all':
        setImmediate(this.#options.onShutdown);
        return { status: 202, body: JSON.stringify({ status: 'stopping' }) };
      case 'merged':
        if (operation.contentType !== undefined) return this.#metrics(request);
        return nounOf(operation.name) === 'worlds' ? this.#worlds(request) : this.#health();
      case 'owner':
      case 'local':
      case 'named':
        return this.#onOneWorld(found, request);
    }
  }

  /** Creates, forks, shows or deletes a world. */
  async #onOneWorld(found: FoundOperation, request: ControlRequest): Promise<ControlReply> {
    const { operation, id } = found;
    const { shards, routes } = this.#parts;
    const { wide } = this.#options;
    if (id === firstWorldId && wide !== undefined) {
      const reply = { headers: {}, ...(await wide.answer(found, request)) };
      // Its body is a JSON text, as of all replies of operations on worlds.
      return this.#withUrls(reply as ShardReply, request);
    }
    const shard = id === undefined ? undefined : (routes.shardOf(id) ?? shards[0]);
    if (operation.status === 201) return this.#createWorld(operation, shard, request);
    const reply = await (shard ?? shards[0]).ask(requestForShard(request));
    const isDeleted = operation.verb === 'DELETE' && reply.status < 300;
    if (isDeleted && id !== undefined) await routes.forget(id);
    return this.#withUrls(reply, request);
  }

  /** `origin`: the shard of the world that is copied; undefined: any shard may have the new one. */
  async #createWorld(operation: Operation, origin: Shard | undefined, request: ControlRequest) {
    const { maxMessages } = this.#options;
    const input = parseBody(request);
    let shardRequest = requestForShard(request);
    // Otherwise a new world would inherit the `--max-messages` of its shard, a part of the fleet's.
    const needsBound = maxMessages !== undefined && operation.target === undefined;
    if (needsBound && typeof input === 'object') {
      const body = JSON.stringify({ max_messages: maxMessages, ...input });
      shardRequest = { ...shardRequest, body };
    }
    const reply = await this.#newWorlds.create(shardRequest, input, origin);
    return this.#withUrls(reply, request);
  }

  async #worlds(request: ControlRequest): Promise<ControlReply> {
    const { shards, routes } = this.#parts;
    await Promise.all(shards.map((shard) => routes.readShard(shard)));
    const worlds = routes.worlds.map(({ shard: _, keys: __, ...view }) =>
      this.#viewFor(view, request.headers['host']),
    );
    return okReply({ worlds });
  }

  async #metrics(request: ControlRequest): Promise<ControlReply> {
    const { shards, haproxy } = this.#parts;
    const isOfWorld = new URLSearchParams(request.query).has('world');
    const replies = await Promise.all(
      shards.map((shard) =>
        // Only one shard has the world that the query names; the others refuse.
        isOfWorld ? shard.ask(requestForShard(request)) : this.#scrape(shard, request),
      ),
    );
    const given = replies.filter((reply) => reply !== undefined);
    const first = given.find(({ status }) => status === 200) ?? given[0];
    if (first !== undefined && first.status !== 200) return passedReply(first);
    const texts = replies.map((reply) => (reply?.status === 200 ? reply.body : ''));
    const { 'content-type': type = 'text/plain; version=0.0.4' } = first?.headers ?? {};
    const down = shards.flatMap(({ name, life }) => (life.state === 'ready' ? [] : [name]));
    const waiting = haproxy.isReady
      ? await haproxy.countWaiting(down).catch(() => undefined)
      : undefined;
    const isOpenMetrics = type.includes('openmetrics');
    const own = shardFamilies(this.#parts, waiting, { isOpenMetrics });
    const body = joinedMetrics(texts, isOfWorld ? new Map() : own);
    return passedReply({ status: 200, headers: { 'content-type': type }, body });
  }

  /** Does not wait for a shard that is down, so that the metrics show that it is. */
  async #scrape(shard: Shard, request: ControlRequest): Promise<ShardReply | undefined> {
    const query = new URLSearchParams(request.query);
    // The first world of a fleet is on shard 0 alone, unless it spans all shards.
    if (shard.index > 0 && this.#options.wide === undefined) query.set('first', 'false');
    if (shard.life.state !== 'ready') return undefined;
    const signal = AbortSignal.timeout(scrapeWithinMs);
    return shard
      .askNow(requestForShard(request, { query: `${query}` }), signal)
      .catch(() => undefined);
  }

  async #health(): Promise<ControlReply> {
    const { shards, haproxy } = this.#parts;
    const failures: string[] = [];
    if (haproxy.isStopping) failures.push(draining);
    else if (!haproxy.isReady) failures.push('HAProxy is starting again');
    const states = await Promise.all(
      shards.map(async (shard) => {
        const { state, pid } = shard.life;
        const reason = await failureOf(shard);
        if (reason !== undefined) failures.push(reason);
        return { shard: shard.index, state, pid };
      }),
    );
    const body =
      failures.length === 0
        ? { status: 'ok', shards: states }
        : { error: { code: 'unavailable', message: failures.join('; ') }, shards: states };
    return { status: failures.length === 0 ? 200 : 503, body: JSON.stringify(body) };
  }

  /** Replaces the URLs of a world, which are those of its shard, by those of the fleet. */
  #withUrls(reply: ShardReply, request: ControlRequest): ControlReply {
    if (reply.status >= 300 || reply.body === '') return passedReply(reply);
    return changedReply(reply, (view: WorldView) => this.#viewFor(view, request.headers['host']));
  }

  #viewFor<V extends { readonly world_id: string }>(view: V, host: string | undefined): V {
    const { baseUrl, controlUrl } = this.#options.urlsFor(host);
    const prefix = view.world_id === firstWorldId ? '' : prefixOf(view.world_id);
    const base = `${baseUrl}${prefix}`;
    return {
      ...view,
      base_url: base,
      host_url: hostUrl(base, view.world_id),
      control_url: `${controlUrl}${prefix}`,
    };
  }
}

/** Why a shard is not healthy, as a sentence; undefined if it is. */
async function failureOf(shard: Shard): Promise<string | undefined> {
  const { index, life } = shard;
  if (life.state !== 'ready') return `shard ${index} is ${life.state}`;
  try {
    const health = routeOf('simulator.health');
    const reply = await shard.askNow(health, AbortSignal.timeout(healthWithinMs));
    return reply.status === 200 ? undefined : `shard ${index}: ${messageOf(reply)}`;
  } catch {
    return `shard ${index} does not answer`;
  }
}

/** The message of an error reply, or the start of a body that is not one. */
function messageOf({ body }: ShardReply): string {
  try {
    return (JSON.parse(body) as { error: { message: string } }).error.message;
  } catch {
    return body.slice(0, 200);
  }
}
