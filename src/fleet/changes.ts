/**
 * Changes of a world that spans all shards: one after another, in the same order on every shard,
 * while HAProxy holds requests back. What a shard has still to do is in a file until it has done it:
 * it does so when it is there again, or when the whole fleet is.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { OperationRefused } from '../sim/operation-refused.ts';
import { type Answer, type Asked, pause, textOf } from './ask.ts';
import type { Parts } from './routes.ts';
import { type Shard, ShardUnavailable } from './shard.ts';

/** What one shard has to do. */
interface Step {
  /** Its index. */
  readonly shard: number;
  readonly asked: Asked;
  /** How long the list at this path was before: a creation is repeated only if it still is. */
  readonly length: number | undefined;
}

export interface How {
  /** Asked before the others, which do nothing if it refuses. Default: all are asked at once. */
  readonly first?: Shard;
  readonly shards?: readonly Shard[];
  /** What each shard is asked, where its ids are others. */
  readonly askedOf?: (shard: Shard) => Asked;
}

/** How long a change waits for running requests to end: a fault may keep one open for ever. */
const settleWithinMs = 200;
const pauseMs = 2;

export class Changes {
  readonly #parts: Parts;
  readonly #file: string | undefined;
  #steps: readonly Step[] = [];
  /** Steps that a shard may have done already. */
  readonly #uncertain = new Set<Step>();
  #last: Promise<unknown> = Promise.resolve();
  /** What each shard is doing, one step at a time. */
  readonly #doing = new Map<Shard, Promise<unknown>>();
  /** True while requests wait for a change. */
  isHolding = false;

  /** `file`: undefined without journals, as shards then forget what they did. */
  constructor(parts: Parts, file: string | undefined) {
    this.#parts = parts;
    this.#file = file;
    if (file === undefined || !existsSync(file)) return;
    this.#steps = JSON.parse(readFileSync(file, 'utf8')) as readonly Step[];
    for (const step of this.#steps) this.#uncertain.add(step);
  }

  /** Acts while no request is admitted, after the changes before it. */
  exclusively<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => {
      await this.#hold(true);
      try {
        const result = await act();
        // A shard may be ready again after `act` has stopped waiting for it. It does what it still
        // has to do before requests are let through.
        const readyWithSteps = this.#parts.shards.filter(({ index, state }) =>
          this.#steps.some(({ shard }) => shard === index && state === 'ready'),
        );
        await Promise.all(readyWithSteps.map((shard) => this.catchUp(shard)));
        return result;
      } finally {
        await this.#hold(false);
      }
    });
    this.#last = done.catch(() => {});
    return done;
  }

  /**
   * The answers of the shards that have done it; or the refusal of the first one. A shard that does
   * not come back in time, or has no room on its disk, does it when it starts again.
   */
  async make(asked: Asked, how: How = {}): Promise<readonly Answer[]> {
    const { first, shards = this.#parts.shards, askedOf = () => asked } = how;
    const length = await lengthAt(first ?? this.#parts.shards[0], asked.path);
    const steps = shards.map((shard): Step => {
      const own = askedOf(shard);
      return { shard: shard.index, asked: { ...own, body: textOf(own) }, length };
    });
    const answers: Answer[] = [];
    this.#keep([...this.#steps, ...steps]);
    const others = shards.filter((shard) => shard !== first);
    if (first !== undefined) {
      const step = steps.find(({ shard }) => shard === first.index);
      const answer = await this.#do(first, step as Step).catch((error) => {
        this.#keep(this.#steps.filter((each) => !steps.includes(each)));
        throw error;
      });
      const isRefused = answer.status >= 300;
      this.#keep(
        this.#steps.filter((each) => each !== step && !(isRefused && steps.includes(each))),
      );
      answers.push(answer);
      if (isRefused) return answers;
    }
    const rest = await Promise.all(others.map((shard) => this.catchUp(shard)));
    return [...answers, ...rest.filter((answer) => answer !== undefined)];
  }

  /** Does what a shard has still to do. Returns its last answer, or undefined if some is left. */
  catchUp(shard: Shard): Promise<Answer | undefined> {
    const before = this.#doing.get(shard) ?? Promise.resolve();
    const done = before.then(async () => {
      let last: Answer | undefined;
      for (const step of this.#steps.filter((each) => each.shard === shard.index)) {
        last = await this.#do(shard, step).catch(whereUnavailable);
        if (last === undefined || last.status >= 500) return undefined;
        this.#keep(this.#steps.filter((each) => each !== step));
      }
      return last;
    });
    this.#doing.set(
      shard,
      done.catch(() => {}),
    );
    return done;
  }

  /** Asks until the shard has answered; if it ended meanwhile, it is asked what it has not done. */
  async #do(shard: Shard, step: Step): Promise<Answer> {
    const { asked, length } = step;
    for (;;) {
      try {
        if (this.#uncertain.has(step)) {
          const now = await lengthAt(shard, asked.path);
          if (now !== undefined && now !== length) return { status: 200, headers: {}, body: '{}' };
        }
        return await shard.ask(asked);
      } catch (error) {
        this.#uncertain.add(step);
        if (!(error instanceof ShardUnavailable && error.mayHaveHappened)) throw error;
      }
    }
  }

  #keep(steps: readonly Step[]): void {
    this.#steps = steps;
    for (const step of this.#uncertain) if (!steps.includes(step)) this.#uncertain.delete(step);
    const file = this.#file;
    if (file === undefined) return;
    try {
      if (steps.length === 0) rmSync(file, { force: true });
      else {
        writeFileSync(`${file}.tmp`, JSON.stringify(steps), { mode: 0o600 });
        renameSync(`${file}.tmp`, file);
      }
    } catch (error) {
      throw new OperationRefused('unavailable', `${file}: cannot be written: ${error}`);
    }
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
}

function whereUnavailable(error: unknown): undefined {
  if (!(error instanceof ShardUnavailable)) throw error;
}

/** The length of the list at a path of the control port; undefined if there is none. */
async function lengthAt(shard: Shard, path: string): Promise<number | undefined> {
  const { status, body } = await shard.ask({ method: 'GET', path });
  if (status !== 200) return undefined;
  return Object.values(JSON.parse(body) as object).find(Array.isArray)?.length;
}
