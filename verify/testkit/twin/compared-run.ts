/**
 * Runs a simulator and the reference model (`verify/model/`) in parallel: every request goes to
 * both, and their replies must be equal. The model takes over the values that the simulator draws
 * at random, and checks that they are possible. `verify/testkit/steps/` plays random and chosen
 * steps on a run.
 */
import type { Status } from '#contract/message-status.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { isoTime } from '#contract/time.ts';
import type { Device } from '#src/sim/accounts/account.ts';
import { type Assumptions, defaultAssumptions } from '#src/sim/assumptions.ts';
import { messageHistory } from '#src/sim/store/message-view.ts';
import { Simulator } from '#src/simulator.ts';
import { ReferenceModel } from '../../model/reference-model.ts';
import { changesOnItsOwn } from '../../model/reference-phone.ts';
import { type Expected, isUuid } from '../../model/reference-replies.ts';
import { Callers, names, poolNumbers, scriptedFates } from './callers.ts';
import { differenceOf } from './reply-difference.ts';
import { bearer, requestText, requestTo } from './request.ts';

export interface Setup {
  readonly seed: number;
  readonly startMs: number;
  readonly assumptions: Partial<Assumptions>;
}

export interface ComparedRunOptions {
  /** False for properties of the simulator alone, which do not need the model. */
  readonly compares?: boolean;
  /** The assumptions of the model, if they differ from the simulator's. */
  readonly modelled?: Assumptions;
  /** The content type of replies for which the model states none. */
  readonly contentType?: string | undefined;
}

/** One request of a run with its reply, and the step that sent it. */
export interface TraceLine {
  readonly step: number;
  readonly who: number;
  readonly atMs: number;
  readonly request: ApiRequest;
  readonly reply: ApiReply;
}

type History = readonly { readonly status: Status; readonly atMs: number }[];

export class ComparedRun {
  readonly simulator: Simulator;
  readonly model: ReferenceModel;
  readonly callers: Callers;
  readonly trace: TraceLine[] = [];
  step = 0;
  /** The times at which an advance of the clock pauses; only a property test sets it. */
  stopsBetween: (fromMs: number, toMs: number) => readonly number[] = () => [];
  readonly #options: ComparedRunOptions;

  constructor({ seed, startMs, assumptions }: Setup, options: ComparedRunOptions = {}) {
    this.#options = options;
    const world = { pool: poolNumbers.map((number) => ({ number })) };
    this.simulator = new Simulator(
      { clock: 'manual', startTime: startMs, seed, world, assumptions },
      { journal: false },
    );
    const { modelled = { ...defaultAssumptions, ...assumptions } } = options;
    this.model = new ReferenceModel(startMs, modelled);
    this.model.outcomes = scriptedFates;
    this.callers = new Callers(this.model);
    for (const sim of this.#world.pool)
      this.model.sims.push({ ...simOf(sim), accountId: undefined });
    for (const [who, name] of names.entries()) {
      const { account_id: accountId } = this.simulator.accounts.create({ name });
      expectUuid(accountId);
      this.model.accounts.push({ accountId, quota: undefined });
      this.callers.add(accountId);
      this.createKey(who);
    }
    this.#createSim(0, '+12025550101', 'simulated');
    this.#createSim(0, '+12025550102', 'external');
    this.#createSim(1, '+12025550111', 'simulated');
  }

  /**
   * Stops synchronously: `close()` would wait for the next turn of the event loop, and a test
   * creates thousands of runs in one turn.
   */
  stop(): void {
    this.simulator.wallClock.stop();
    this.simulator.simulation.stop();
  }

  checkInvariants(): void {
    const { broken } = this.simulator.invariants({ snapshot: 'false' });
    if (broken.length > 0) throw new Error(`invariants are violated: ${broken.join('; ')}`);
  }

  /** Sends a request to the simulator and the model. Throws if their replies differ. */
  exchange(who: number, request: ApiRequest): ApiReply {
    const reply = this.simulator.handle(request);
    const expected: Expected = this.model.handle(request);
    this.trace.push({ step: this.step, who, atMs: this.model.nowMs, request, reply });
    const { compares = true, contentType = 'application/json' } = this.#options;
    const difference = compares ? differenceOf(expected, reply, contentType) : undefined;
    if (difference !== undefined)
      throw new Error(`${requestText(request)}\nat ${isoTime(this.model.nowMs)}: ${difference}`);
    expected.learn?.(reply);
    if (reply.status === 202) this.#learnFate(reply);
    this.learnOwnChanges();
    return reply;
  }

  /** Checks the whole state, every message's status and history, and every account's counts. */
  checkWholeState(): void {
    this.checkInvariants();
    for (const message of this.model.messages) {
      const who = this.callers.ownerOf(message);
      this.exchange(who, this.getBy(who, `/api/v1/sms/${message.messageId}/`));
      const expected = historyText(message.history);
      const actual = historyText(this.historyOf(message.messageId) ?? message.history);
      if (actual === expected) continue;
      throw new Error(`history of ${message.messageId}: ${actual}; the model's: ${expected}`);
    }
    for (const who of names.keys()) this.exchange(who, this.getBy(who, '/api/v1/account/stats/'));
  }

  getBy(who: number, path: string, keyPosition = 0): ApiRequest {
    return requestTo(path, {
      authorization: bearer(this.callers.keyAt(who, keyPosition)),
      clientIp: '203.0.113.1',
    });
  }

  advanceTo(ms: number): void {
    for (const stopMs of [...this.stopsBetween(this.model.nowMs, ms), ms]) {
      this.simulator.clock.advance({ to: stopMs });
      this.model.advanceTo(stopMs);
      this.learnOwnChanges();
    }
    const now = this.simulator.clock.now();
    if (now !== ms) throw new Error(`now is ${now}, not ${ms}`);
  }

  createKey(who: number): void {
    const { accountId } = this.callers.of(who);
    const { key_id: keyId, key } = this.simulator.accounts.createKey(accountId, { name: 'test' });
    const hasKeyFormat =
      key.startsWith(String(this.model.assumptions.keyFormat)) && /[A-Za-z0-9]{40}$/.test(key);
    if (!hasKeyFormat || this.model.keys.some((each) => each.key === key || each.keyId === keyId))
      throw new Error(`key ${key}`);
    this.model.keys.push({ keyId, key, accountId, revoked: false });
  }

  /** Passes changes of status to the model that come at a time of their own, not at a poll. */
  learnOwnChanges(): void {
    for (const message of this.model.messages) {
      if (changesOnItsOwn(message, this.model.assumptions))
        this.model.learnChanges(message, this.historyOf(message.messageId) ?? []);
    }
  }

  /** The simulator's history of a message; undefined if it was forgotten. */
  historyOf(messageId: string): History | undefined {
    const message = this.#world.messages.get(messageId);
    if (message === undefined) return undefined;
    return messageHistory(message).map(({ status, at }) => ({ status, atMs: Date.parse(at) }));
  }

  get #world() {
    return this.simulator.simulation.world;
  }

  /** Passes the drawn fate of the message that the reply accepts to the model. */
  #learnFate(reply: ApiReply): void {
    const message = this.model.messages.at(-1);
    if (message === undefined || this.model.assumptions.failureRate === 0) return;
    const fate = this.#world.messages.get(String(JSON.parse(reply.body).message_id))?.fate;
    const { ends, in: status, polls } = fate ?? { ends: 'delivered', polls: 1 };
    if (ends === 'delivered') this.model.learnFate(message, { ends, polls });
    else if (status !== undefined) this.model.learnFate(message, { ends, in: status, polls });
    else throw new Error(`a message that ends ${ends} without a status`);
  }

  #createSim(who: number, number: string, polling: 'simulated' | 'external'): void {
    const { accountId } = this.callers.of(who);
    const { device_id: deviceId } = this.simulator.sims.create(accountId, { number, polling });
    const sim = this.#world.devices.get(deviceId);
    if (sim === undefined) throw new Error(`no SIM ${deviceId}`);
    const aheadMs = sim.firstPollAtMs - this.model.nowMs;
    const intervalMs = Number(this.model.assumptions.pollIntervalSeconds) * 1000;
    if (!(aheadMs > 0 && aheadMs <= intervalMs)) throw new Error(`first poll ${aheadMs} ms ahead`);
    this.model.sims.push({ ...simOf(sim), accountId, polling });
  }
}

/** A new SIM of the simulator, as the model keeps it. */
function simOf({ deviceId, number, firstPollAtMs }: Device) {
  expectUuid(deviceId);
  const state = { active: true, connected: true, allowed: true, polling: 'simulated' as const };
  return { deviceId, number, firstPollAtMs, ableSinceMs: 0, ...state };
}

function historyText(history: History): string {
  return history.map(({ status, atMs }) => `${status} at ${isoTime(atMs)}`).join(', ');
}

export function expectUuid(id: string): void {
  if (!isUuid(id)) throw new Error(`${id} is not a UUID`);
}
