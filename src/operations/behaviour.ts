/**
 * How the service behaves, switched while it runs: limits, assumptions, scripted fates.
 * Rules: LIMIT-1 to LIMIT-6, STATE-3, STATE-4. Assumes: any, by override.
 */
import { z } from 'zod';
import { permittedAnswers } from '../config/assumption-text.ts';
import { outcomesOf } from '../config/default-world.ts';
import {
  assumptionsSchema,
  type LimitOverrides,
  limitOverridesSchema,
  outcomeSchema,
} from '../config/world-schema.ts';
import { type Assumptions, assumptionLedger, assumptionNames } from '../sim/assumptions.ts';
import { mostOutcomes } from '../sim/bounds.ts';
import { endpointNames, type LimitsPerMinute } from '../sim/limits.ts';
import type { Outcome } from '../sim/outcomes.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';

export const outcomesInputSchema = z.strictObject({
  outcomes: z
    .array(outcomeSchema)
    .max(mostOutcomes)
    .describe('The first that fits a recipient counts.'),
});
export type OutcomesInput = z.input<typeof outcomesInputSchema>;
export type OutcomesView = { readonly outcomes: readonly Outcome[] };

export const outcomeHitsSchema = z.strictObject({
  hits: z.array(z.int().min(0)).describe('Messages to its recipients, for each outcome in order.'),
});
export type OutcomeHits = Readonly<z.output<typeof outcomeHitsSchema>>;

export const bucketsSchema = z.strictObject({
  buckets: z.array(
    z.strictObject({
      account_id: z.uuid(),
      endpoint: z.enum(endpointNames),
      limit: z.int().min(1),
      available: z.int().min(0).describe('Requests that would pass now.'),
    }),
  ),
});
export type Buckets = Readonly<z.output<typeof bucketsSchema>>;

export const ledgerEntrySchema = z.strictObject({
  name: z.string(),
  open: z.string().describe('What the document leaves open.'),
  default: z.union([z.string(), z.number(), z.array(z.string())]),
  answers: z.array(z.string()).describe('The named ones, default first.'),
  permitted: z.string().describe('All that is an answer, in words.'),
});
export type LedgerEntry = Readonly<z.output<typeof ledgerEntrySchema>>;

export class LimitLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  get(): LimitsPerMinute {
    return this.#live.simulation.limiter.limits;
  }

  /** What each account could still ask now, of each endpoint that is limited. */
  buckets(): Buckets['buckets'] {
    this.#live.wallClock.pump();
    const { limiter, world } = this.#live.simulation;
    const { limits } = limiter;
    return [...world.accounts.keys()].flatMap((account_id) =>
      endpointNames.flatMap((endpoint) => {
        const limit = limits[endpoint];
        const available = limiter.available(endpoint, account_id);
        return limit === null || available === null
          ? []
          : [{ account_id, endpoint, limit, available }];
      }),
    );
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

  /** Every gap with its answers. */
  ledger(): LedgerEntry[] {
    return assumptionNames.map((name) => {
      const { open, answers, default: fallback } = assumptionLedger[name];
      const own = Array.isArray(fallback) ? [...fallback] : fallback;
      const permitted = permittedAnswers(name);
      return { name, open, default: own, answers: [...answers], permitted } as LedgerEntry;
    });
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

  hits(): OutcomeHits {
    const { outcomes, messages } = this.#live.simulation.world;
    const hits = outcomes.list.map(() => 0);
    const placeOf = new Map<string, number>();
    for (const { to } of messages.values()) {
      const place = placeOf.get(to) ?? outcomes.placeOf(to);
      placeOf.set(to, place);
      if (place >= 0) hits[place] = (hits[place] ?? 0) + 1;
    }
    return { hits };
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
