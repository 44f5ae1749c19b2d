/**
 * The simulator as the model's tests drive it. Changes of the simulator's in-process interface only
 * need changes here.
 */

import type { LimitedEndpoint, Outcome } from '../../conformance/model/reference-model.ts';
import type { Fate, Status } from '../../conformance/model/reference-phone.ts';
import type { ApiReply, ApiRequest } from '../../src/http/service/messages.ts';
import type { Assumptions } from '../../src/sim/assumptions.ts';
import type { ReceivedEntry } from '../../src/sim/received.ts';
import { type SettingsInput, Simulator } from '../../src/simulator.ts';
import type { SimPatch } from './steps.ts';

export interface SubjectSettings {
  readonly seed: number;
  readonly startMs: number;
  readonly assumptions: Partial<Assumptions>;
}

export interface SubjectSim {
  readonly deviceId: string;
  readonly firstPollAtMs: number;
}

export type History = readonly { readonly status: Status; readonly atMs: number }[];

/** The pool in every world of these tests. */
export const poolNumbers: readonly string[] = ['+12025550190', '+12025550191'];

export class Subject {
  readonly #simulator: Simulator;

  constructor({ seed, startMs, assumptions }: SubjectSettings) {
    const settings: SettingsInput = {
      clock: 'manual',
      startTime: startMs,
      seed,
      world: { pool: poolNumbers.map((number) => ({ number })) },
      assumptions,
    };
    this.#simulator = new Simulator(settings, { journal: false });
  }

  /** Stops at once: `close()` would wait for the next turn, and tests make thousands in one. */
  stop(): void {
    this.#simulator.wallClock.stop();
    this.#simulator.simulation.stop();
  }

  handle(request: ApiRequest): ApiReply {
    return this.#simulator.handle(request);
  }

  now(): number {
    return this.#simulator.clock.now();
  }

  advanceTo(ms: number): void {
    this.#simulator.clock.advance({ to: ms });
  }

  createAccount(name: string): string {
    return this.#simulator.accounts.create({ name }).account_id;
  }

  setQuota(accountId: string, quota: number | 'unlimited'): void {
    this.#simulator.accounts.patch(accountId, { monthly_quota: quota });
  }

  createKey(accountId: string, name: string): { keyId: string; key: string } {
    const { key_id: keyId, key } = this.#simulator.accounts.createKey(accountId, { name });
    return { keyId, key };
  }

  revokeKey(keyId: string): void {
    this.#simulator.accounts.revokeKey(keyId);
  }

  createSim(accountId: string, number: string, polling: 'simulated' | 'external'): SubjectSim {
    const { device_id: deviceId } = this.#simulator.sims.create(accountId, { number, polling });
    const firstPollAtMs = this.#world.devices.get(deviceId)?.firstPollAtMs ?? Number.NaN;
    return { deviceId, firstPollAtMs };
  }

  poolSims(): readonly SubjectSim[] {
    return this.#world.pool;
  }

  patchSim(deviceId: string, changes: SimPatch): void {
    this.#simulator.sims.patch(deviceId, changes);
  }

  /** Returns the ids of the messages picked up. */
  pollNow(deviceId: string): readonly string[] {
    return this.#simulator.sims.poll(deviceId).picked_up;
  }

  inject(accountId: string, from: string, to: string, message: string): ReceivedEntry {
    return this.#simulator.sims.receive(accountId, { from, to, message });
  }

  assume(changes: Partial<Assumptions>): void {
    this.#simulator.assumptions.patch(changes);
  }

  setLimit(endpoint: LimitedEndpoint, limit: number | null): void {
    this.#simulator.limits.patch({ [endpoint]: limit });
  }

  setOutcomes(outcomes: readonly Outcome[]): void {
    this.#simulator.outcomes.put({ outcomes: [...outcomes] });
  }

  historyOf(messageId: string): History {
    const { history } = this.#simulator.messages.get(messageId);
    return history.map(({ status, at }) => ({ status, atMs: Date.parse(at) }));
  }

  /** The fate of a message, drawn or scripted. */
  fateOf(messageId: string): Fate {
    const fate = this.#world.messages.get(messageId)?.fate;
    if (fate === undefined) return { ends: 'delivered', polls: 1 };
    const { ends, in: status, polls } = fate;
    if (ends === 'delivered') return { ends, polls };
    if (status === undefined) throw new Error(`a message that ends ${ends} without a status`);
    return { ends, in: status, polls };
  }

  /** Violations of invariants, one line each. */
  broken(): readonly string[] {
    return this.#simulator.invariants({ snapshot: 'false' }).broken;
  }

  get #world() {
    return this.#simulator.simulation.world;
  }
}
