/**
 * Changes of a wide world (a world that spans all shards). Every shard makes the same changes in
 * the same order, while HAProxy holds requests back. A step is one change on one shard. A file
 * lists the steps still to be taken, for a shard or a fleet that starts again.
 */
import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { OperationRefused } from '#src/sim/errors.ts';
import { bodyText, type ShardReply, type ShardRequest } from './ask.ts';
import type { FleetParts } from './routes.ts';
import { type Shard, ShardUnavailable } from './shard.ts';
import { readState, writeState } from './state-file.ts';

/** One change on one shard. The file has its fields. */
interface Step {
  readonly shard: number;
  readonly asked: ShardRequest;
  /**
   * The length of the list at the request's path before the change: if it differs later, the step
   * was taken. Undefined if there is no list there: such a step may be repeated.
   */
  readonly length: number | undefined;
}

const stepsSchema = z.array(
  z.custom<Step>((step) => typeof (step as Partial<Step> | null)?.asked?.path === 'string'),
);

export interface ChangeOptions {
  /** Asked before the others, which do nothing if it refuses. Default: all are asked at once. */
  readonly first?: Shard;
  /** Default: all shards. */
  readonly shards?: readonly Shard[];
  /** The request for each shard, where ids differ between shards. Default: the same for all. */
  readonly requestFor?: (shard: Shard) => ShardRequest;
}

/** How long a change waits for requests in flight to end: a fault may keep one open for ever. */
const settleWithinMs = 200;
const pauseMs = 2;
/** Stands for the reply that was lost when a shard ended after it had taken a step. */
const alreadyDone: ShardReply = { status: 200, headers: {}, body: '{}' };

export class Changes {
  readonly #parts: FleetParts;
  readonly #file: string | undefined;
  /** The steps that are still to be taken, in order, as the file lists them. */
  #steps: readonly Step[] = [];
  /** The steps of `#steps` that a shard may have taken, as its reply was lost. */
  readonly #uncertain = new Set<Step>();
  #lastChange: Promise<unknown> = Promise.resolve();
  /** The last `catchUp` of each shard, so that a shard takes one step at a time. */
  readonly #catchUps = new Map<Shard, Promise<unknown>>();
  #isHolding = false;

  /** `file`: undefined without journals, as shards then forget their changes when they end. */
  constructor(parts: FleetParts, file: string | undefined) {
    this.#parts = parts;
    this.#file = file;
    if (file === undefined) return;
    this.#steps = readState(file, stepsSchema) ?? [];
    for (const step of this.#steps) this.#uncertain.add(step);
  }

  get isHolding(): boolean {
    return this.#isHolding;
  }

  /** Waits for earlier changes, then calls `act` while no request is admitted. */
  exclusively<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#lastChange.then(async () => {
      try {
        await this.#setHold(true);
        const result = await act();
        // A shard may be ready again after `act` has stopped waiting for it. It takes its steps
        // before requests are let through.
        const readyWithSteps = this.#parts.shards.filter(
          ({ index, life }) =>
            life.state === 'ready' && this.#steps.some(({ shard }) => shard === index),
        );
        await Promise.all(readyWithSteps.map((shard) => this.catchUp(shard)));
        return result;
      } finally {
        await this.#setHold(false);
      }
    });
    this.#lastChange = done.catch(() => {});
    return done;
  }

  /**
   * Makes a change on the shards. Returns the replies of those that made it, or only the refusal of
   * `first`. A shard that is late, or whose disk is full, makes it when it starts again.
   */
  async make(request: ShardRequest, options: ChangeOptions = {}): Promise<readonly ShardReply[]> {
    const { first, shards = this.#parts.shards, requestFor = () => request } = options;
    const length = await listLengthAt(first ?? this.#parts.shards[0], request.path);
    const steps = shards.map((shard): Step => {
      const own = requestFor(shard);
      return { shard: shard.index, asked: { ...own, body: bodyText(own) }, length };
    });
    this.#addSteps(steps);
    const replies: ShardReply[] = [];
    if (first !== undefined) {
      const reply = await this.#makeFirst(first, steps);
      if (reply.status >= 300) return [reply];
      replies.push(reply);
    }
    const others = shards.filter((shard) => shard !== first);
    const caughtUp = await Promise.all(others.map((shard) => this.catchUp(shard)));
    return [...replies, ...caughtUp.filter((reply) => reply !== undefined)];
  }

  /**
   * Takes the step of the first shard, and removes it. If that fails or is refused, no shard makes
   * the change, so all of its steps are removed.
   */
  async #makeFirst(first: Shard, steps: readonly Step[]): Promise<ShardReply> {
    const step = steps.find(({ shard }) => shard === first.index);
    if (step === undefined) throw new Error('the first shard is not among the shards');
    let removed = steps;
    try {
      const reply = await this.#take(first, step);
      if (reply.status < 300) removed = [step];
      return reply;
    } finally {
      this.#removeSteps(removed);
    }
  }

  /**
   * Takes the steps of a shard. Returns the reply to the last one; undefined if steps remain, or if
   * there were none.
   */
  catchUp(shard: Shard): Promise<ShardReply | undefined> {
    const earlier = this.#catchUps.get(shard) ?? Promise.resolve();
    const done = earlier.then(async () => {
      let reply: ShardReply | undefined;
      for (const step of this.#steps.filter((each) => each.shard === shard.index)) {
        reply = await this.#take(shard, step).catch((error) => {
          if (!(error instanceof ShardUnavailable)) throw error;
          return undefined;
        });
        if (reply === undefined || reply.status >= 500) return undefined;
        this.#removeSteps([step]);
      }
      return reply;
    });
    this.#catchUps.set(
      shard,
      done.catch(() => {}),
    );
    return done;
  }

  /** Takes a step. If the shard ends meanwhile, asks again unless its list shows the change. */
  async #take(shard: Shard, step: Step): Promise<ShardReply> {
    const { asked, length } = step;
    for (;;) {
      try {
        if (this.#uncertain.has(step)) {
          const lengthNow = await listLengthAt(shard, asked.path);
          if (lengthNow !== undefined && lengthNow !== length) return alreadyDone;
        }
        return await shard.ask(asked);
      } catch (error) {
        this.#uncertain.add(step);
        if (!(error instanceof ShardUnavailable && error.mayHaveHappened)) throw error;
      }
    }
  }

  /** Refused, with nothing to take, if the file cannot list the steps. */
  #addSteps(steps: readonly Step[]): void {
    const all = [...this.#steps, ...steps];
    try {
      this.#write(all);
    } catch (error) {
      throw new OperationRefused('unavailable', (error as Error).message);
    }
    this.#steps = all;
  }

  #removeSteps(steps: readonly Step[]): void {
    for (const step of steps) this.#uncertain.delete(step);
    this.#steps = this.#steps.filter((step) => !steps.includes(step));
    try {
      this.#write(this.#steps);
    } catch {
      // The change is made. The next one writes the file, or is refused.
    }
  }

  #write(steps: readonly Step[]): void {
    if (this.#file === undefined) return;
    if (steps.length === 0) rmSync(this.#file, { force: true });
    else writeState(this.#file, steps);
  }

  /**
   * Holds all requests back, or admits them again. Resolves, when it holds, once the requests in
   * flight have ended, or after `settleWithinMs`.
   */
  async #setHold(isHolding: boolean): Promise<void> {
    const { shards, haproxy } = this.#parts;
    this.#isHolding = isHolding;
    // The requests of a shard that is starting are held already, until it has caught up.
    const started = shards.filter(({ life }) => life.state !== 'starting');
    const value = isHolding ? '1' : undefined;
    await haproxy.change(started.map(({ name }) => ({ map: 'held', key: name, value })));
    const untilMs = performance.now() + settleWithinMs;
    while (isHolding && (await haproxy.countInFlight()) > 0 && performance.now() < untilMs)
      await pause(pauseMs);
  }
}

/** The length of the list that a path of the control port shows; undefined if it shows none. */
async function listLengthAt(shard: Shard, path: string): Promise<number | undefined> {
  const { status, body } = await shard.ask({ method: 'GET', path });
  if (status !== 200) return undefined;
  return Object.values(JSON.parse(body) as object).find(Array.isArray)?.length;
}
