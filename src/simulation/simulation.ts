/**
 * The simulated service from its start to a reset: clock, world, limiter and devices. It uses only
 * virtual time and seeded random numbers, so the same settings and calls give the same bytes.
 */
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { DeviceActors } from '../actors/device-actors.ts';
import { Lifecycle } from '../actors/lifecycle.ts';
import { assumptionsOf, limitsOf, type Settings } from '../config/settings.ts';
import { type Handled, handle } from '../http/service/api.ts';
import { Faults } from '../http/service/faults.ts';
import { Registry } from '../sim/accounts/registry.ts';
import { type Assumptions, SwitchableAssumptions } from '../sim/assumptions.ts';
import { VirtualClock } from '../sim/clock.ts';
import { Outcomes, scriptedOutcomes } from '../sim/devices/outcomes.ts';
import { Limiter } from '../sim/limiter/limiter.ts';

/** The classes of a simulation. A defect (`verify/defects`) replaces one of them. */
export interface Parts {
  readonly DeviceActors: typeof DeviceActors;
  readonly Lifecycle: typeof Lifecycle;
  readonly Limiter: typeof Limiter;
  readonly Registry: typeof Registry;
}

const correctParts: Parts = { DeviceActors, Lifecycle, Limiter, Registry };

export class Simulation {
  readonly clock: VirtualClock;
  readonly lifecycle: Lifecycle;
  readonly deviceActors: DeviceActors;
  readonly limiter: Limiter;
  readonly world: Registry;
  readonly faults: Faults;
  readonly #assumptions: SwitchableAssumptions;
  readonly #countsRealSeconds: boolean;

  /** `startMs`: the start of the virtual clock, in epoch milliseconds. */
  constructor(settings: Settings, startMs: number, parts: Partial<Parts> = {}) {
    const classes = { ...correctParts, ...parts };
    this.#countsRealSeconds = settings.retryAfterSeconds === 'real';
    this.#assumptions = new SwitchableAssumptions(assumptionsOf(settings));
    this.clock = new VirtualClock(startMs);
    this.lifecycle = new classes.Lifecycle(this.clock.now);
    this.deviceActors = new classes.DeviceActors(this.clock, this.lifecycle, this.#assumptions);
    this.limiter = new classes.Limiter(this.clock.now, limitsOf(settings), this.#assumptions);
    this.world = new classes.Registry({
      seed: settings.seed,
      name: settings.name ?? '',
      now: this.clock.now,
      assumptions: this.#assumptions,
      outcomes: new Outcomes([...settings.world.outcomes, ...scriptedOutcomes]),
      dispatch: this.deviceActors,
      enforcesQuotas: !settings.noLimits,
      maxMessages: settings.maxMessages,
    });
    this.faults = new Faults((label) => this.world.chance(label));
    this.#populate(settings.world);
  }

  /** Answers one request at the current simulated time. */
  handle(request: ApiRequest): Handled {
    return this.faults.isEmpty
      ? handle(this.world, this.limiter, request)
      : this.faults.handle(this.world, this.limiter, request);
  }

  /** Switches assumptions for everything that happens from now on. */
  assume(overrides: Partial<Assumptions>): void {
    const before = this.#assumptions.answers;
    this.#assumptions.switch(overrides);
    this.limiter.assumptionsSwitched(before);
    this.deviceActors.assumptionsSwitched(before);
  }

  /**
   * Sets the seconds that `Retry-After` counts: real ones if the settings ask for them and the
   * clock runs by itself, otherwise simulated ones. `rate`: simulated seconds per second; 0 on a
   * manual clock.
   */
  setClockRate(rate: number): void {
    this.limiter.setRetryAfterRate(this.#countsRealSeconds && rate > 0 ? rate : 1);
  }

  stop(): void {
    this.deviceActors.stop();
  }

  #populate(fixture: Settings['world']): void {
    for (const { name, monthly_quota: quota, keys, sims } of fixture.accounts) {
      const account = this.world.createAccount(name, quota ?? undefined);
      for (const key of keys) this.world.createKey(account, key.name, key.key);
      for (const sim of sims) this.world.createSim(account, sim.number, sim);
    }
    for (const { number } of fixture.pool) this.world.createPoolNumber(number);
  }
}
