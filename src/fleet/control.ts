/**
 * The control port of the fleet. It declares nothing of its own: it walks the table of operations,
 * and each declaration says whether an operation goes to all shards, to one of them, or is joined
 * from the answers of all.
 */
import { errorToReply } from '../control/control-api.ts';
import type { ControlAnswers } from '../control/control-port.ts';
import { errorReply, type FoundOperation } from '../control/look-up.ts';
import type { ControlReply, ControlRequest } from '../http/transport/transport.ts';
import { nounOf, type Operation } from '../operations/define.ts';
import { routeOf } from '../operations/table.ts';
import { hostUrl } from '../operations/worlds.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import { prefixOf } from '../worlds/address.ts';
import { firstWorldId } from '../worlds/worlds.ts';
import { type Answer, type Asked, askedOf, jsonOf } from './ask.ts';
import { NewWorlds } from './new-worlds.ts';
import { refuseRouted } from './refusals.ts';
import { changedReply, joinedMetrics, okReply, openEvents, passedReply } from './replies.ts';
import type { Parts, WorldView } from './routes.ts';
import { type Shard, ShardUnavailable, stopping } from './shard.ts';
import type { Wide } from './wide.ts';

export interface ControlOptions {
  /** The URLs for a client that reached the control port by this `Host`. */
  readonly urlsFor: (host: string | undefined) => {
    readonly baseUrl: string;
    readonly controlUrl: string;
  };
  /** A first world that spans all shards. */
  readonly wide?: Wide | undefined;
  /** `--max-messages` of each world, where that of a shard is a part of it. */
  readonly maxMessages?: number | undefined;
  readonly onShutdown: () => void;
}

const healthWithinMs = 2_000;
/** HAProxy has ended in the midst of it. */
const stoppingLate = `${stopping}: this operation may have happened`;

export class FleetControl implements ControlAnswers {
  readonly #parts: Parts;
  readonly #options: ControlOptions;
  readonly #newWorlds: NewWorlds;

  constructor(parts: Parts, options: ControlOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#newWorlds = new NewWorlds(parts.shards, parts.routes);
  }

  readonly hasWorld = (worldId: string): boolean =>
    worldId === firstWorldId || this.#parts.routes.shardOf(worldId) !== undefined;

  /** The shards hide the keys in what they answer. */
  readonly withoutKeys = (reply: ControlReply): ControlReply => reply;

  readonly answer = async (
    found: FoundOperation,
    request: ControlRequest,
    worldId: string | undefined,
  ): Promise<ControlReply> => {
    try {
      const { operation } = found;
      refuseRouted(operation, () => jsonOf(request));
      const named = worldId === firstWorldId ? undefined : worldId;
      const isOfServer = named === undefined || nounOf(operation.name) === 'worlds';
      if (operation.ofServer === true && isOfServer) return await this.#onServer(found, request);
      const { shards, routes } = this.#parts;
      const { wide } = this.#options;
      if (named === undefined && wide !== undefined) return await wide.answer(found, request);
      const shard = named === undefined ? shards[0] : routes.shardOf(named);
      return await this.#inWorld(shard ?? shards[0], found, request, named);
    } catch (error) {
      if (error instanceof ShardUnavailable) return errorReply(503, 'unavailable', error.message);
      const isRefused = error instanceof OperationRefused || !this.#parts.haproxy.isStopping;
      return isRefused ? errorToReply(error) : errorReply(503, 'unavailable', stoppingLate);
    }
  };

  /** One world on one shard: the shard's own reply. */
  async #inWorld(
    shard: Shard,
    { operation }: FoundOperation,
    request: ControlRequest,
    worldId: string | undefined,
  ): Promise<ControlReply> {
    const asked = askedOf(request, worldId === undefined ? '' : prefixOf(worldId));
    if (operation.contentType === 'text/event-stream') return openEvents([shard], asked);
    const answer = await shard.ask(asked);
    if (operation.changesKeys === true && worldId !== undefined) {
      await this.#parts.routes.readKeysOf(worldId);
    }
    if (operation.name !== 'simulator.state' || answer.status !== 200) return passedReply(answer);
    const { baseUrl } = this.#options.urlsFor(request.headers['host']);
    const base = worldId === undefined ? baseUrl : `${baseUrl}${prefixOf(worldId)}`;
    return changedReply(answer, (state: object) => ({ ...state, base_url: base }));
  }

  async #onServer(found: FoundOperation, request: ControlRequest): Promise<ControlReply> {
    const { operation, id } = found;
    const { shards, routes } = this.#parts;
    switch (operation.scope) {
      case 'all':
        setImmediate(this.#options.onShutdown);
        return { status: 202, body: JSON.stringify({ status: 'stopping' }) };
      case 'merged':
        if (operation.contentType !== undefined) return this.#metrics(askedOf(request));
        return nounOf(operation.name) === 'worlds' ? this.#worlds(request) : this.#health();
      default: {
        const { wide } = this.#options;
        if (id === firstWorldId && wide !== undefined) {
          const joined = { headers: {}, ...(await wide.answer(found, request)) };
          return this.#withUrls(joined as Answer, request);
        }
        const shard = id === undefined ? undefined : (routes.shardOf(id) ?? shards[0]);
        if (operation.status === 201) return this.#newWorld(operation, shard, request);
        const answer = await (shard ?? shards[0]).ask(askedOf(request));
        if (operation.verb === 'DELETE' && answer.status < 300) await routes.forget(id ?? '');
        return this.#withUrls(answer, request);
      }
    }
  }

  async #newWorld(operation: Operation, at: Shard | undefined, request: ControlRequest) {
    const { maxMessages } = this.#options;
    const given = jsonOf(request);
    const asked = askedOf(request);
    // A world inherits the settings of its shard, which holds a part of the messages.
    const isPart = maxMessages !== undefined && operation.target === undefined;
    const body = { max_messages: maxMessages, ...(given as object | undefined) };
    const own =
      isPart && typeof given === 'object' ? { ...asked, body: JSON.stringify(body) } : asked;
    return this.#withUrls(await this.#newWorlds.create(own, given, at), request);
  }

  async #worlds(request: ControlRequest): Promise<ControlReply> {
    const { shards, routes } = this.#parts;
    await Promise.all(shards.map((shard) => routes.readShard(shard)));
    const worlds = routes.worlds.map(({ shard: _, keys: __, ...view }) =>
      this.#viewFor(view, request.headers['host']),
    );
    return okReply({ worlds });
  }

  async #metrics(asked: Asked): Promise<ControlReply> {
    const answers = await Promise.all(this.#parts.shards.map((shard) => shard.ask(asked)));
    // One shard alone knows a world that the query names.
    const first = answers.find(({ status }) => status === 200);
    if (first === undefined) return passedReply(answers[0] as Answer);
    const texts = answers.map(({ status, body }) => (status === 200 ? body : ''));
    return passedReply({ ...first, body: joinedMetrics(texts) });
  }

  async #health(): Promise<ControlReply> {
    const { shards, haproxy } = this.#parts;
    const { path } = routeOf('simulator.health');
    const failures = haproxy.isReady ? [] : ['HAProxy is starting again'];
    const states = await Promise.all(
      shards.map(async (shard) => {
        const { index, state, pid } = shard;
        if (state !== 'ready') failures.push(`shard ${index} is ${state}`);
        else {
          const asked = { method: 'GET', path };
          const answer = await shard
            .askNow(asked, AbortSignal.timeout(healthWithinMs))
            .catch(() => undefined);
          if (answer === undefined) failures.push(`shard ${index} does not answer`);
          else if (answer.status !== 200) failures.push(`shard ${index}: ${messageOf(answer)}`);
        }
        return { shard: index, state, pid };
      }),
    );
    const body =
      failures.length === 0
        ? { status: 'ok', shards: states }
        : { error: { code: 'unavailable', message: failures.join('; ') }, shards: states };
    return { status: failures.length === 0 ? 200 : 503, body: JSON.stringify(body) };
  }

  #withUrls(answer: Answer, request: ControlRequest): ControlReply {
    if (answer.status >= 300 || answer.body === '') return passedReply(answer);
    return changedReply(answer, (view: WorldView) => this.#viewFor(view, request.headers['host']));
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

function messageOf({ body }: Answer): string {
  try {
    return (JSON.parse(body) as { error: { message: string } }).error.message;
  } catch {
    return body.slice(0, 200);
  }
}
