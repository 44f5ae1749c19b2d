/**
 * The clock of a world that spans all shards. Time is moved to one instant on every shard, so that a
 * move may be repeated. A clock that runs follows one line: wall time, simulated time and a rate.
 */
import { advanceSchema, targetOf } from '../operations/clock.ts';
import type { ClockState } from '../operations/clock-state.ts';
import { readInput } from '../operations/input.ts';
import { routeOf } from '../operations/table.ts';
import { isoTime } from '../sim/clock.ts';
import type { Answer, Asked } from './ask.ts';
import type { Changes } from './changes.ts';
import type { ReplyOf, Shard } from './shard.ts';

interface Line {
  readonly wallMs: number;
  readonly simulatedMs: number;
  readonly mode: string;
  readonly rate: number;
}

export class WideClock {
  readonly #shards: readonly [Shard, ...Shard[]];
  readonly #changes: Changes;
  #line: Line | undefined;

  constructor(shards: readonly [Shard, ...Shard[]], changes: Changes) {
    this.#shards = shards;
    this.#changes = changes;
  }

  /** That of the first shard, with the latest time of any. */
  async state(): Promise<ClockState> {
    const states = await Promise.all(this.#shards.map(stateOf));
    const { now } = states.reduce((one, other) => (other.now > one.now ? other : one));
    const due = states.flatMap(({ next_at: at }) => (at === null ? [] : [at])).sort();
    return { ...(states[0] as ClockState), now, next_at: due[0] ?? null };
  }

  /** All shards at the latest time of any, and on one line from there. */
  async meet(next?: Pick<Line, 'mode' | 'rate'>): Promise<void> {
    const { mode, rate } = next ?? (await this.state());
    const all = (act: (shard: Shard) => Promise<unknown>) => Promise.all(this.#shards.map(act));
    await all((shard) => setClock(shard, { mode: 'manual' }));
    const { now } = await this.state();
    await all((shard) => advanceTo(shard, now));
    const line = { mode, rate, wallMs: Date.now(), simulatedMs: Date.parse(now) };
    this.#line = mode === 'manual' ? undefined : line;
    if (mode !== 'manual') await all((shard) => follow(shard, line));
  }

  /** Brings a shard that was started again to the time of the others. */
  async resume(shard: Shard): Promise<void> {
    const line = this.#line;
    const { mode } = await stateOf(shard);
    if (line !== undefined) {
      const wallMs = Date.now();
      await setClock(shard, { mode: 'manual' });
      await advanceTo(shard, isoTime(line.simulatedMs + (wallMs - line.wallMs) * line.rate));
      await follow(shard, { ...line, wallMs });
    } else if (mode === 'manual') {
      const other = this.#shards.find((one) => one !== shard && one.state === 'ready');
      if (other !== undefined) await advanceTo(shard, (await stateOf(other)).now);
    }
  }

  /** Throws an OperationRefused. */
  advance(given: unknown): Promise<ReplyOf<'clock.advance'>> {
    return this.#changes.exclusively(async () => {
      const lead = await stateOf(this.#shards[0]);
      const { mode } = lead;
      // Manual ones are all at one time.
      const { now } = mode === 'manual' ? lead : await this.state();
      const target = targetOf(readInput(advanceSchema, given, ['clock']), Date.parse(now));
      const isIdle = target === 'idle';
      const idle = isIdle ? await this.#move({ until_idle: true }) : { now, fired: 0 };
      const to = isIdle ? idle.now : isoTime(target);
      const { fired } = await this.#move({ to });
      if (mode !== 'manual') await this.meet();
      return { now: to, fired: idle.fired + fired };
    });
  }

  /** The first shard says whether the mode is one. */
  setMode(asked: Asked): Promise<Answer> {
    return this.#changes.exclusively(async () => {
      const answer = await this.#shards[0].ask(asked);
      if (answer.status === 200) await this.meet(JSON.parse(answer.body) as ClockState);
      return answer;
    });
  }

  async #move(how: object): Promise<ReplyOf<'clock.advance'>> {
    const answers = await this.#changes.make(askedTo('clock.advance', how));
    const moved = answers.flatMap(({ status, body }) =>
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

async function advanceTo(shard: Shard, to: string): Promise<void> {
  await shard.ask(askedTo('clock.advance', { to }));
}

async function setClock(shard: Shard, mode: object): Promise<void> {
  await shard.ask(askedTo('clock.setMode', mode));
}

function follow(shard: Shard, { mode, rate, wallMs }: Line): Promise<void> {
  return setClock(shard, { mode, since_ms: wallMs, ...(mode === 'scaled' && { rate }) });
}

function askedTo(name: 'clock.advance' | 'clock.setMode', input: object): Asked {
  return { ...routeOf(name), body: JSON.stringify(input) };
}
