/**
 * How the service behaves, switched while it runs: limits, assumptions, scripted fates.
 * Rules: LIMIT-1 to LIMIT-6, STATE-3, STATE-4. Assumes: any, by override.
 */
import { z } from 'zod';
import type { Assumptions } from '../sim/assumptions.ts';
import { outcomesOf } from '../sim/fixture.ts';
import { endpointNames, type LimitsPerMinute } from '../sim/limits.ts';
import type { Outcome } from '../sim/outcomes.ts';
import {
  assumptionsSchema,
  type LimitOverrides,
  limitOverridesSchema,
  outcomeSchema,
} from '../sim/world-schema.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';

export const outcomesInputSchema = z.strictObject({
  outcomes: z.array(outcomeSchema).max(10_000).describe('The first that fits a recipient counts.'),
});
export type OutcomesInput = z.input<typeof outcomesInputSchema>;
export type OutcomesView = { readonly outcomes: readonly Outcome[] };

export class LimitLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  get(): LimitsPerMinute {
    return this.#live.simulation.limiter.limits;
  }

  /** A changed limit starts with full buckets. */
  patch(input: LimitOverrides): LimitsPerMinute {
    return this.#live.change('limits.patch', [input], () => {
      const limits = readInput(limitOverridesSchema, input, ['limits']);
      for (const endpoint of endpointNames) {
        const limit = limits[endpoint];
        if (limit !== undefined) this.#live.simulation.limiter.setLimit(endpoint, limit);
      }
      return this.get();
    });
  }

  /** Fills every bucket. */
  reset(): void {
    this.#live.change('limits.reset', [], () => this.#live.simulation.limiter.reset());
  }
}

export class AssumptionLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  get(): Assumptions {
    return this.#live.simulation.world.assumptions;
  }

  patch(input: Partial<Assumptions>): Assumptions {
    return this.#live.change('assumptions.patch', [input], () => {
      this.#live.simulation.assume(readInput(assumptionsSchema, input, ['assumptions']));
      return this.get();
    });
  }
}

export class OutcomeLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  get(): OutcomesView {
    return { outcomes: this.#live.simulation.world.outcomes.list };
  }

  /** Replaces the scripted fates. Those of the fixed recipients stay, behind whatever is said here. */
  put(input: OutcomesInput): OutcomesView {
    return this.#live.change('outcomes.put', [input], () => {
      const { outcomes } = readInput(outcomesInputSchema, input);
      const named = new Set(outcomes.map(({ to }) => to));
      const fixed = outcomesOf({ outcomes: [] }).filter(({ to }) => !named.has(to));
      this.#live.simulation.world.outcomes.replace([...outcomes, ...fixed]);
      return this.get();
    });
  }
}
