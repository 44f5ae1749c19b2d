/**
 * A first world that spans all shards, by account. Every shard has all accounts, SIMs and the pool,
 * with the same ids and phases; requests of an account reach one shard alone, its owner. So each
 * account's replies are byte for byte those of one process.
 *
 * What changes the world happens on every shard, in one order, while no request is admitted. If a
 * shard ends meanwhile it happens there once the shard is back; if the fleet ends, once it starts
 * again: the operation is in a file until all have it.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { errorReply } from '../control/look-up.ts';
import type { ControlReply, ControlRequest } from '../http/transport/transport.ts';
import { advanceSchema, targetOf } from '../operations/clock.ts';
import type { ClockState } from '../operations/clock-state.ts';
import type { Operation } from '../operations/define.ts';
import { readInput } from '../operations/input.ts';
import { type OperationName, routeOf } from '../operations/table.ts';
import { waitInputSchema } from '../operations/wait.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import { firstWorldId } from '../worlds/worlds.ts';
import type { Answer, Asked } from './ask.ts';
import {
  askedOf,
  changedReply,
  type Found,
  jsonOf,
  openEvents,
  type Parts,
  type WideWorld,
} from './control.ts';
import { joined, shardNumber } from './join.ts';
import { refuseInexact } from './refusals.ts';
import { passedReply } from './replies.ts';
import { keysOf } from './routes.ts';
import { type Shard, ShardUnavailable } from './shard.ts';

export interface WideOptions {
  /** True if accounts without a SIM influence each other: they then share a shard. */
  readonly couplesPool: boolean;
  /** The file that remembers the shard of each account; undefined without journals. */
  readonly ownersFile: string | undefined;
  readonly intentFile: string | undefined;
  readonly baseUrl: string;
}

interface AccountView {
  readonly account_id: string;
  readonly name: string;
}

interface Page {
  readonly messages: readonly { readonly created_at: string }[];
  readonly next_cursor: string | null;
}

/** The line that simulated time follows: the same on every shard. */
interface Line {
  readonly wallMs: number;
  readonly simulatedMs: number;
  readonly mode: string;
  readonly rate: number;
}

/** Requests that a fault keeps open do not end. */
const settleWithinMs = 200;
const pauseMs = 2;
const waitPauseMs = 20;
const largestPage = 1_000;

export class Wide implements WideWorld {
  readonly #parts: Parts;
  readonly #options: WideOptions;
  #accounts: readonly AccountView[] = [];
  #owners: Record<string, number> = {};
  #line: Line | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** True while requests wait for a change. */
  isHolding = false;
  /** What a shard missed, as it did not come back in time. */
  readonly #missed = new Map<Shard, Asked[]>();

  private constructor(parts: Parts, options: WideOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  static async start(parts: Parts, options: WideOptions): Promise<Wide> {
    const wide = new Wide(parts, options);
    const { ownersFile, intentFile } = options;
    if (ownersFile !== undefined && existsSync(ownersFile)) {
      wide.#owners = JSON.parse(readFileSync(ownersFile, 'utf8')) as Record<string, number>;
    } else wide.#placeAll();
    const [lead] = parts.shards;
    const { mode } = await read<ClockState>(lead, 'clock.state');
    if (mode === 'manual') await wide.#meet();
    else if (mode === 'scaled') await wide.#align();
    if (intentFile !== undefined && existsSync(intentFile)) {
      await wide.#finish(JSON.parse(readFileSync(intentFile, 'utf8')) as Asked);
    }
    await wide.#readAccounts();
    return wide;
  }

  readonly ownerOf = (accountId: string): Shard => {
    const { shards } = this.#parts;
    return shards[this.#owners[accountId] ?? this.#placeOf(accountId)] ?? shards[0];
  };

  /** Brings a shard that was started again to the state and time of the others. */
  async resume(shard: Shard): Promise<void> {
    for (const asked of this.#missed.get(shard) ?? []) await shard.ask(asked);
    this.#missed.delete(shard);
    const other = this.#parts.shards.find((one) => one !== shard && one.state === 'ready');
    const { mode, now } = await read<ClockState>(shard, 'clock.state');
    if (mode === 'manual' && other !== undefined) {
      const there = (await read<ClockState>(other, 'clock.state')).now;
      if (there > now) await advanceTo(shard, there);
    } else if (this.#line !== undefined) {
      const line = this.#line;
      const wallMs = Date.now();
      await setClock(shard, { mode: 'manual' });
      const onLine = line.simulatedMs + (wallMs - line.wallMs) * line.rate;
      await advanceTo(shard, new Date(Math.max(onLine, Date.parse(now))).toISOString());
      await follow(shard, { ...line, wallMs });
    }
  }

  async answer(found: Found, request: ControlRequest): Promise<ControlReply> {
    const { operation, id } = found;
    const { shards } = this.#parts;
    const [lead] = shards;
    const asked = askedOf(request);
    const named = new URLSearchParams(request.query).get('shard');
    if (operation.ofShard === true) return this.#ofShard(operation, request, named);
    if (operation.contentType === 'text/event-stream') return openEvents(shards, asked);
    const given = jsonOf(request);
    refuseInexact(operation, given);
    switch (operation.name as OperationName) {
      case 'clock.advance':
        return this.#exclusively(asked, async () => ok(await this.#advance(given)));
      case 'clock.setMode':
        return this.#exclusively(undefined, () => this.#setMode(asked));
      case 'messages.wait':
        return this.#wait(given);
      case 'messages.page':
        return this.#ownerIn(request, given) ?? this.#page(request);
      case 'requests.get': {
        const { number, shard } = shardNumber(Number(id), shards.length);
        const path = asked.path.replace(String(id), String(number));
        const answer = await (shards[shard] ?? lead).ask({ ...asked, path });
        if (answer.status !== 200) return passedReply(answer);
        return changedReply(answer, (view: object) => ({ ...view, number: Number(id) }));
      }
      default:
    }
    switch (operation.scope) {
      case 'local':
        return passedReply(await lead.ask(asked));
      case 'all':
        return this.#exclusively(asked, () => this.#everywhere(operation, asked, lead));
      case 'merged':
        return this.#ownerIn(request, given) ?? this.#merged(operation, asked);
      default:
        return this.#byOwner(found, asked);
    }
  }

  async #ofShard(
    operation: Operation,
    request: ControlRequest,
    named: string | null,
  ): Promise<ControlReply> {
    const { shards } = this.#parts;
    const shard = named === null ? undefined : shards[Number(named)];
    if (shard === undefined) {
      const message = `each shard of a wide world has its own: add ?shard=N, from 0 to ${shards.length - 1}`;
      return errorReply(409, 'conflict', message, 'shard');
    }
    const query = new URLSearchParams(request.query);
    query.delete('shard');
    const answer = await shard.ask(askedAs(request, query));
    if (operation.changesKeys === true) await this.#readAccounts();
    return passedReply(answer);
  }

  /** What names an account is answered by its shard. */
  #ownerIn(request: ControlRequest, given: unknown): Promise<ControlReply> | undefined {
    const query = new URLSearchParams(request.query);
    const body = (given ?? {}) as { account_id?: unknown; account?: unknown };
    const named =
      query.get('account_id') ?? query.get('account') ?? body.account_id ?? body.account;
    if (typeof named !== 'string') return undefined;
    return this.#ownerCalled(named).ask(askedOf(request)).then(passedReply);
  }

  #ownerCalled(idOrName: string): Shard {
    const called = this.#accounts.find(
      ({ account_id: id, name }) => id === idOrName.toLowerCase() || name === idOrName,
    );
    return called === undefined ? this.#parts.shards[0] : this.ownerOf(called.account_id);
  }

  async #merged(operation: Operation, asked: Asked): Promise<ControlReply> {
    const { shards } = this.#parts;
    const answers = await Promise.all(shards.map((shard) => shard.ask(asked)));
    const refusal = answers.find(({ status }) => status !== 200);
    if (refusal !== undefined) return passedReply(refusal);
    const bodies = answers.map(({ body }) => JSON.parse(body) as unknown);
    const whole = joined(bodies, { shards, ownerOf: this.ownerOf });
    const isState = operation.name === 'simulator.state';
    return ok(isState ? { ...(whole as object), base_url: this.#options.baseUrl } : whole);
  }

  /** On the shard that has the account, message, SIM or key; what changes it, on the others, too. */
  async #byOwner({ operation, id = '' }: Found, asked: Asked): Promise<ControlReply> {
    const { shards } = this.#parts;
    const change = (act: () => Promise<ControlReply>) =>
      operation.recorded ? this.#exclusively(undefined, act) : act();
    switch (operation.target) {
      case undefined:
      case 'account_id': {
        const owner = id === '' ? shards[0] : this.#ownerCalled(id);
        // Another shard would draw another key, and later the text of one that was revoked.
        const isOfOwner = operation.name === 'accounts.createKey';
        return change(() => this.#everywhere(operation, asked, owner, isOfOwner ? [] : shards));
      }
      case 'key_id': {
        const keys = await Promise.all(shards.map((shard) => keysOf(shard, firstWorldId)));
        const owner = shards.find((shard, at) =>
          keys[at]?.some((key) => key.key_id === id && this.ownerOf(key.account_id) === shard),
        );
        return change(() => this.#everywhere(operation, asked, owner ?? shards[0]));
      }
      case 'device_id':
        return change(() => this.#onDevice(operation, asked, id));
      default: {
        for (const shard of shards.slice(1)) {
          const answer = await shard.ask(asked);
          if (answer.status !== 404) return passedReply(answer);
        }
        return passedReply(await shards[0].ask(asked));
      }
    }
  }

  /** A SIM that was created later has another id on each shard: its number tells which it is. */
  async #onDevice(operation: Operation, asked: Asked, id: string): Promise<ControlReply> {
    type Sim = { device_id: string; number: string; account_id: string | null };
    const { shards } = this.#parts;
    const lists = await Promise.all(
      shards.map((shard) => read<{ sims: readonly Sim[] }>(shard, 'sims.all')),
    );
    const at = shards.findIndex((shard, place) =>
      lists[place]?.sims.some(
        ({ device_id: own, account_id: account }) =>
          own === id && (account === null || this.ownerOf(account) === shard),
      ),
    );
    const owner = shards[at] ?? shards[0];
    const sim = lists[at]?.sims.find(({ device_id: own }) => own === id);
    const isOfPool = sim?.account_id === null;
    const isForAll = operation.recorded && (isOfPool || operation.verb === 'DELETE');
    if (!isForAll) {
      if (isOfPool) return this.#merged(operation, asked);
      return passedReply(await owner.ask(asked));
    }
    return this.#everywhere(operation, asked, owner, shards, (place) => {
      const own = lists[place]?.sims.find(({ number }) => number === sim?.number);
      return { ...asked, path: asked.path.replace(id, own?.device_id ?? id) };
    });
  }

  /** First where it counts; a refusal there leaves the others as they are. */
  async #everywhere(
    operation: Operation,
    asked: Asked,
    first: Shard,
    all: readonly Shard[] = this.#parts.shards,
    askedAt: (place: number) => Asked = () => asked,
  ): Promise<ControlReply> {
    if (!operation.recorded) return passedReply(await first.ask(asked));
    const { shards } = this.#parts;
    const others = all.filter((shard) => shard !== first);
    const answer = await this.#deliver(first, asked, others[0], false);
    if (answer.status >= 300) return passedReply(answer);
    const answers = await Promise.all(
      others.map((shard) => this.#deliverLater(shard, askedAt(shards.indexOf(shard)), first)),
    );
    if (operation.name === 'simulator.reset') await this.#meet();
    const isOfAccounts = operation.changesKeys === true || operation.name.startsWith('accounts.');
    if (isOfAccounts) await this.#readAccounts();
    if (operation.name !== 'sims.poll') return passedReply(answer);
    const bodies = [answer, ...answers].map(({ body }) => JSON.parse(body) as unknown);
    return ok(joined(bodies, { shards, ownerOf: this.ownerOf }));
  }

  /**
   * Asks a shard until it has answered. If it ends as it is asked, a creation is repeated only if
   * it did not happen: `other` has it or not, as `hasOther` says, and shows so how long the list is.
   */
  async #deliver(
    shard: Shard,
    asked: Asked,
    other: Shard | undefined,
    hasOther: boolean,
  ): Promise<Answer> {
    for (;;) {
      try {
        return await shard.ask(asked);
      } catch (error) {
        if (!(error instanceof ShardUnavailable && error.mayHaveHappened)) throw error;
        if (asked.method !== 'POST' || other === undefined) continue;
        const list = { method: 'GET', path: asked.path };
        const counts = await Promise.all(
          [shard, other].map(async (one) => lengthOf(await one.ask(list))),
        );
        if (counts[0] === undefined) continue;
        if ((counts[0] === counts[1]) !== hasOther) continue;
        return { status: 200, headers: {}, body: '{}' };
      }
    }
  }

  /** As `#deliver`; a shard that does not come back in time gets it when it does. */
  async #deliverLater(shard: Shard, asked: Asked, other: Shard): Promise<Answer> {
    try {
      return await this.#deliver(shard, asked, other, true);
    } catch (error) {
      if (!(error instanceof ShardUnavailable)) throw error;
      this.#missed.set(shard, [...(this.#missed.get(shard) ?? []), asked]);
      return { status: 503, headers: {}, body: '{}' };
    }
  }

  /** One change at a time, while no request is admitted. `intent`: completed after a crash. */
  #exclusively(intent: Asked | undefined, act: () => Promise<ControlReply>): Promise<ControlReply> {
    const done = this.#last.then(async () => {
      const { intentFile } = this.#options;
      await this.#hold(true);
      try {
        if (intent !== undefined && intentFile !== undefined) {
          const { method, path, body } = intent;
          writeFileSync(`${intentFile}.tmp`, JSON.stringify({ method, path, body: String(body) }));
          renameSync(`${intentFile}.tmp`, intentFile);
        }
        const reply = await act();
        if (intentFile !== undefined) rmSync(intentFile, { force: true });
        return reply;
      } finally {
        await this.#hold(false);
      }
    });
    this.#last = done.catch(() => {});
    return done;
  }

  async #hold(isHeld: boolean): Promise<void> {
    const { shards, haproxy } = this.#parts;
    this.isHolding = isHeld;
    const there = shards.filter(({ state }) => state !== 'starting');
    await haproxy.change(
      there.map(({ name }) => ({ map: 'held', key: name, value: isHeld ? '1' : undefined })),
    );
    const until = performance.now() + settleWithinMs;
    while (isHeld && (await haproxy.running()) > 0 && performance.now() < until)
      await pause(pauseMs);
  }

  /** Completes what an earlier process of the fleet began. */
  async #finish(asked: Asked): Promise<void> {
    const { shards } = this.#parts;
    const list = { method: 'GET', path: asked.path };
    if (asked.path === routeOf('clock.advance').path)
      await this.#advance(jsonOf({ body: String(asked.body) }));
    else if (asked.method !== 'POST') for (const shard of shards) await shard.ask(asked);
    else {
      const counts = await Promise.all(
        shards.map(async (shard) => lengthOf(await shard.ask(list)) ?? 0),
      );
      const most = Math.max(...counts);
      for (const [at, shard] of shards.entries()) if (counts[at] !== most) await shard.ask(asked);
    }
    rmSync(this.#options.intentFile ?? '', { force: true });
  }

  /** To one instant on all shards, so that it may be repeated. */
  async #advance(given: unknown): Promise<{ now: string; fired: number }> {
    const { shards } = this.#parts;
    const how = readInput(advanceSchema, given, ['clock']);
    const states = await this.#clocks();
    const nowMs = Math.max(...states.map(({ now }) => Date.parse(now)));
    const target = targetOf(how, nowMs);
    const { intentFile } = this.#options;
    if (typeof target === 'number' && intentFile !== undefined) {
      const to = JSON.stringify({ to: new Date(target).toISOString() });
      const { method, path } = routeOf('clock.advance');
      writeFileSync(intentFile, JSON.stringify({ method, path, body: to }));
    }
    let fired = 0;
    let now = new Date(typeof target === 'number' ? target : nowMs).toISOString();
    const advance = async (how: object) => {
      const { method, path } = routeOf('clock.advance');
      const asked = { method, path, body: JSON.stringify(how) };
      const answers = await Promise.all(shards.map((shard) => this.#repeat(shard, asked)));
      for (const { status, body } of answers) {
        if (status !== 200) continue;
        const reached = JSON.parse(body) as { now: string; fired: number };
        fired += reached.fired;
        if (reached.now > now) ({ now } = reached);
      }
    };
    if (target === 'idle') await advance({ until_idle: true });
    await advance({ to: now });
    if (states[0]?.mode !== 'manual') await this.#align();
    return { now, fired };
  }

  async #repeat(shard: Shard, asked: Asked): Promise<Answer> {
    return this.#deliver(shard, asked, undefined, false);
  }

  /** All clocks at the latest time of any. */
  async #meet(): Promise<void> {
    const states = await this.#clocks();
    const latest = states.map(({ now }) => now).reduce((one, other) => (other > one ? other : one));
    if (states[0]?.mode !== 'manual') return this.#align();
    await Promise.all(this.#parts.shards.map((shard) => advanceTo(shard, latest)));
  }

  /** One line of time for all shards: where the latest is, from now on. */
  async #align(mode?: string, rate?: number): Promise<void> {
    const { shards } = this.#parts;
    const [before] = await this.#clocks();
    const next = { mode: mode ?? before?.mode ?? 'real', rate: rate ?? before?.rate ?? 1 };
    await Promise.all(shards.map((shard) => setClock(shard, { mode: 'manual' })));
    await this.#meet();
    const [{ now } = { now: '' }] = await this.#clocks();
    const line = { ...next, wallMs: Date.now(), simulatedMs: Date.parse(now) };
    this.#line = next.mode === 'manual' ? undefined : line;
    if (next.mode !== 'manual') await Promise.all(shards.map((shard) => follow(shard, line)));
  }

  /** The first shard says whether the mode is one; then all follow one line. */
  async #setMode(asked: Asked): Promise<ControlReply> {
    const [lead] = this.#parts.shards;
    const answer = await lead.ask(asked);
    if (answer.status !== 200) return passedReply(answer);
    const { mode, rate } = JSON.parse(answer.body) as ClockState;
    await this.#align(mode, rate);
    return this.#merged({ name: 'clock.state' } as Operation, routeOf('clock.state'));
  }

  #clocks(): Promise<readonly ClockState[]> {
    return Promise.all(this.#parts.shards.map((shard) => read<ClockState>(shard, 'clock.state')));
  }

  /** Newest first over all shards. A cursor has one part for each of them. */
  async #page(request: ControlRequest): Promise<ControlReply> {
    const { shards } = this.#parts;
    const query = new URLSearchParams(request.query);
    const cursors = query.get('cursor')?.split('.') ?? [];
    const limit = Number(query.get('limit') ?? 50);
    const pageOf = (at: number, most: number) => {
      const own = new URLSearchParams(query);
      own.delete('cursor');
      const cursor = cursors[at] ?? '';
      if (cursor !== '') own.set('cursor', cursor);
      own.set(
        'limit',
        query.has('limit') && most === limit ? String(query.get('limit')) : `${most}`,
      );
      return (shards[at] ?? shards[0]).ask(askedAs(request, own));
    };
    const answers = await Promise.all(
      shards.map((_, at) => (cursors[at] === ended ? undefined : pageOf(at, limit))),
    );
    const refusal = answers.find((answer) => answer !== undefined && answer.status !== 200);
    if (refusal !== undefined) return passedReply(refusal);
    const pages = answers.map((answer) =>
      answer === undefined ? empty : (JSON.parse(answer.body) as Page),
    );
    const all = pages.flatMap(({ messages }, at) => messages.map((message) => ({ message, at })));
    all.sort((a, b) => Date.parse(b.message.created_at) - Date.parse(a.message.created_at));
    const shown = all.slice(0, limit);
    const next = await Promise.all(
      pages.map(async ({ messages, next_cursor: cursor }, at) => {
        const taken = shown.filter((each) => each.at === at).length;
        if (taken === messages.length) return cursor ?? ended;
        if (taken === 0) return cursors[at] ?? '';
        const part = JSON.parse((await pageOf(at, taken)).body) as Page;
        return part.next_cursor ?? ended;
      }),
    );
    const isLast = next.every((cursor) => cursor === ended);
    const messages = shown.map(({ message }) => message);
    return ok({ messages, next_cursor: isLast ? null : next.join('.') });
  }

  /** As one process does, looking at all shards in turn. */
  async #wait(given: unknown): Promise<ControlReply> {
    const wait = readInput(waitInputSchema, given);
    const { match, count, timeout_ms: timeoutMs } = wait;
    if (wait.advance && (await this.#clocks())[0]?.mode !== 'manual') {
      throw new OperationRefused('invalid', 'advance needs a manual clock', 'advance');
    }
    const { method, path } = routeOf('messages.wait');
    const asked = { method, path, body: JSON.stringify({ match, count: 1, timeout_ms: 0 }) };
    const startedMs = performance.now();
    const [start] = await this.#clocks();
    const untilMs = Date.parse(start?.now ?? '') + timeoutMs;
    for (;;) {
      const answers = await Promise.all(this.#parts.shards.map((shard) => shard.ask(asked)));
      const refusal = answers.find(({ status }) => status !== 200 && status !== 408);
      if (refusal !== undefined) return passedReply(refusal);
      const found = answers.filter(({ status }) => status === 200);
      const parts = found.map(({ body }) => JSON.parse(body) as Page & { count: number });
      const matching = parts.reduce((sum, part) => sum + part.count, 0);
      const messages = parts.flatMap((part) => part.messages).slice(0, largestPage);
      if (matching >= count) return ok({ count: matching, messages });
      const clocks = await this.#clocks();
      const nowMs = Date.parse(clocks[0]?.now ?? '');
      const isLate = wait.advance ? nowMs >= untilMs : performance.now() - startedMs >= timeoutMs;
      if (isLate) {
        const unit = wait.advance ? 'simulated ms' : 'ms';
        const message = `${matching} of ${count} messages matched within ${timeoutMs} ${unit}`;
        throw new OperationRefused('timeout', message);
      }
      if (!wait.advance) await pause(waitPauseMs);
      else {
        const due = clocks.flatMap(({ next_at: at }) => (at === null ? [] : [Date.parse(at)]));
        const to = new Date(Math.min(untilMs, ...due)).toISOString();
        await this.#exclusively(undefined, async () => ok(await this.#advance({ to })));
      }
    }
  }

  /** Reads all accounts and keys, and routes by them. */
  async #readAccounts(): Promise<void> {
    const { shards, routes } = this.#parts;
    const [lead] = shards;
    const { accounts } = await read<{ accounts: readonly AccountView[] }>(lead, 'accounts.list');
    this.#accounts = accounts;
    let isNew = false;
    for (const { account_id: id } of accounts) {
      if (this.#owners[id] !== undefined) continue;
      this.#owners[id] = this.#placeOf(id);
      isNew = true;
    }
    if (isNew) this.#remember();
    const keys = await Promise.all(shards.map((shard) => keysOf(shard, firstWorldId)));
    const own = keys.flatMap((list, at) =>
      (list ?? []).filter(({ account_id: id }) => this.ownerOf(id) === shards[at]),
    );
    await routes.routeFirst(own, this.ownerOf);
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
    const { accounts } = shards[0].ready;
    let next = 0;
    for (const { account_id: id, sims } of accounts) {
      const isCoupled = this.#options.couplesPool && sims.length === 0;
      this.#owners[id] = isCoupled ? 0 : next++ % shards.length;
    }
    this.#remember();
  }

  #remember(): void {
    const { ownersFile } = this.#options;
    if (ownersFile !== undefined) writeFileSync(ownersFile, JSON.stringify(this.#owners));
  }
}

const ended = 'x';
const empty: Page = { messages: [], next_cursor: null };

async function read<T>(shard: Shard, name: OperationName): Promise<T> {
  return shard.read<T>(routeOf(name).path);
}

async function advanceTo(shard: Shard, to: string): Promise<void> {
  const { method, path } = routeOf('clock.advance');
  await shard.ask({ method, path, body: JSON.stringify({ to }) });
}

async function setClock(shard: Shard, mode: object): Promise<void> {
  const { method, path } = routeOf('clock.setMode');
  await shard.ask({ method, path, body: JSON.stringify(mode) });
}

function follow(shard: Shard, { mode, rate, wallMs }: Line): Promise<void> {
  return setClock(shard, { mode, since_ms: wallMs, ...(mode === 'scaled' && { rate }) });
}

/** The length of the list in a reply; undefined if it is none. */
function lengthOf({ status, body }: Answer): number | undefined {
  if (status !== 200) return undefined;
  return Object.values(JSON.parse(body) as object).find(Array.isArray)?.length;
}

function askedAs(request: ControlRequest, query: URLSearchParams): Asked {
  const { method, path, headers, body } = request;
  return askedOf({ method, path, headers, body, query: query.toString() });
}

function ok(body: unknown): ControlReply {
  return { status: 200, body: JSON.stringify(body) };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
