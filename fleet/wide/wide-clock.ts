/**
 * The clock of a wide world (a world that spans all shards). It moves every shard to the same
 * instant, and never by a duration, so that a move can be repeated. While time runs, all shards
 * compute it by one line: simulated time as a linear function of wall time.
 */
import { isoTime } from '#contract/time.ts';
import { readInput } from '#src/operations/perform.ts';
import { advanceSchema, targetOf } from '#src/operations/service/clock.ts';
import { routeOf } from '#src/operations/table.ts';
import type { ClockState } from '#src/operations/views.ts';
import type { ShardReply, ShardRequest } from '../ask.ts';
import type { Changes } from '../changes.ts';
import type { ReplyOf, Shard } from '../shard.ts';

/** At `wallMs` the simulated time was `simulatedMs`; from there it runs `rate` times as fast. */
interface ClockLine {
  readonly wallMs: number;
  readonly simulatedMs: number;
  readonly mode: string;
  readonly rate: number;
}

export class WideClock {
  readonly #shards: readonly [Shard, ...Shard[]];
  readonly #changes: Changes;
  /** Undefined while the clock is manual. */
  #line: ClockLine | undefined;

  constructor(shards: readonly [Shard, ...Shard[]], changes: Changes) {
    this.#shards = shards;
    this.#changes = changes;
  }

  /** The state of the first shard, with the latest time and the next deadline of any shard. */
  async state(): Promise<ClockState> {
    const states = await Promise.all(this.#shards.map(stateOf));
    const { now } = states.reduce((a, b) => (b.now > a.now ? b : a));
    const [deadline] = states.flatMap(({ next_at: at }) => (at === null ? [] : [at])).sort();
    return { ...(states[0] as ClockState), now, next_at: deadline ?? null };
  }

  /** Moves all shards to the latest time, where a new line starts, in the mode `next` if given. */
  async synchronize(next?: Pick<ClockLine, 'mode' | 'rate'>): Promise<void> {
    const { mode, rate } = next ?? (await this.state());
    const shards = this.#shards;
    await Promise.all(shards.map((shard) => setClock(shard, { mode: 'manual' })));
    const { now } = await this.state();
    await Promise.all(shards.map((shard) => advanceTo(shard, now)));
    const line = { mode, rate, wallMs: Date.now(), simulatedMs: Date.parse(now) };
    this.#line = mode === 'manual' ? undefined : line;
    if (mode !== 'manual') await Promise.all(shards.map((shard) => follow(shard, line)));
  }

  /** Brings the clock of a shard that has started again to the time of the others. */
  async resume(shard: Shard): Promise<void> {
    const line = this.#line;
    const { mode } = await stateOf(shard);
    if (line !== undefined) {
      // Moves time to now at once, so that all timers until now fire, and lets it run on from
      // there.
      const wallMs = Date.now();
      await setClock(shard, { mode: 'manual' });
      await advanceTo(shard, isoTime(line.simulatedMs + (wallMs - line.wallMs) * line.rate));
      await follow(shard, { ...line, wallMs });
    } else if (mode === 'manual') {
      const other = this.#shards.find((each) => each !== shard && each.life.state === 'ready');
      if (other !== undefined) await advanceTo(shard, (await stateOf(other)).now);
    }
  }

  /** Advances all shards, as `clock.advance` does. Throws an OperationRefused. */
  advance(input: unknown): Promise<ReplyOf<'clock.advance'>> {
    return this.#changes.exclusively(async () => {
      const first = await stateOf(this.#shards[0]);
      // Manual clocks all have the same time.
      const { now, mode } = first.mode === 'manual' ? first : await this.state();
      const target = targetOf(readInput(advanceSchema, input, ['clock']), Date.parse(now));
      const isIdle = target === 'idle';
      // Each shard becomes idle at another time: then all of them move to the latest of these.
      const idle = isIdle ? await this.#move({ until_idle: true }) : { now, fired: 0 };
      const to = isIdle ? idle.now : isoTime(target);
      const { fired } = await this.#move({ to });
      if (mode !== 'manual') await this.synchronize();
      return { now: to, fired: idle.fired + fired };
    });
  }

  /** Returns the reply of the first shard, which validates the mode. */
  setMode(request: ShardRequest): Promise<ShardReply> {
    return this.#changes.exclusively(async () => {
      const reply = await this.#shards[0].ask(request);
      if (reply.status === 200) await this.synchronize(JSON.parse(reply.body) as ClockState);
      return reply;
    });
  }

  async #move(input: object): Promise<ReplyOf<'clock.advance'>> {
    const replies = await this.#changes.make(clockRequest('clock.advance', input));
    const moved = replies.flatMap(({ status, body }) =>
      status === 200 ? [JSON.parse(body) as ReplyOf<'clock.advance'>] : [],
    );
    return {
      now: moved.reduce((latest, { now }) => (now > latest ? now : latest), ''),
      fired: moved.reduce((sum, { fired = 0 }) => sum + fired, 0),
    };
  }
}

function stateOf(shard: Shard): Promise<ClockState> {
  return shard.read('clock.state');
}

function advanceTo(shard: Shard, to: string): Promise<ShardReply> {
  return shard.ask(clockRequest('clock.advance', { to }));
}

function setClock(shard: Shard, mode: object): Promise<ShardReply> {
  return shard.ask(clockRequest('clock.setMode', mode));
}

/** Makes the clock of a shard run by the line, from its wall time on (`since_ms`). */
function follow(shard: Shard, { mode, rate, wallMs }: ClockLine): Promise<ShardReply> {
  return setClock(shard, { mode, since_ms: wallMs, ...(mode === 'scaled' && { rate }) });
}

function clockRequest(name: 'clock.advance' | 'clock.setMode', input: object): ShardRequest {
  return { ...routeOf(name), body: JSON.stringify(input) };
}
