/**
 * Limits, assumptions and scripted fates on the control port.
 */
import { z } from 'zod';
import {
  assumptionsSchema,
  type LimitOverrides,
  limitOverridesSchema,
} from '../../config/world-schema.ts';
import {
  bucketsSchema,
  ledgerEntrySchema,
  type OutcomesInput,
  outcomeHitsSchema,
  outcomesInputSchema,
} from '../../operations/behaviour.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { Route } from './route.ts';

export const behaviourRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/outcomes',
    summary: 'The scripted fates, by recipient.',
    status: 200,
    result: outcomesInputSchema,
    run: ({ simulator }) => simulator.outcomes.get(),
  },
  {
    method: 'PUT',
    path: '/control/outcomes',
    summary: 'Replaces the scripted fates; those of the fixed recipients stay behind them.',
    status: 200,
    body: outcomesInputSchema,
    bodyLimitBytes: 4 * 1_048_576,
    result: outcomesInputSchema,
    run: ({ simulator, body }) => simulator.outcomes.put(body as OutcomesInput),
  },
  {
    method: 'GET',
    path: '/control/outcomes/hits',
    summary: 'How many messages there are to the recipients of each scripted fate.',
    status: 200,
    result: outcomeHitsSchema,
    run: ({ simulator }) => simulator.outcomes.hits(),
  },
  {
    method: 'GET',
    path: '/control/assumptions/ledger',
    summary: 'Every gap of the document with its answers.',
    status: 200,
    result: z.strictObject({ assumptions: z.array(ledgerEntrySchema) }),
    run: ({ simulator }) => ({ assumptions: simulator.assumptions.ledger() }),
  },
  {
    method: 'GET',
    path: '/control/assumptions',
    summary: 'The answers in force where the document is silent, by name.',
    status: 200,
    result: assumptionsSchema,
    run: ({ simulator }) => simulator.assumptions.get(),
  },
  {
    method: 'PATCH',
    path: '/control/assumptions',
    summary: 'Switches assumptions, for all that happens from now on.',
    status: 200,
    body: assumptionsSchema,
    result: assumptionsSchema,
    run: ({ simulator, body }) => simulator.assumptions.patch(body as Partial<Assumptions>),
  },
  {
    method: 'GET',
    path: '/control/limits',
    summary: 'Requests per minute and endpoint; null for none.',
    status: 200,
    result: limitOverridesSchema,
    run: ({ simulator }) => simulator.limits.get(),
  },
  {
    method: 'GET',
    path: '/control/limits/buckets',
    summary: 'What each account could still ask now, of each endpoint that is limited.',
    status: 200,
    result: bucketsSchema,
    run: ({ simulator }) => ({ buckets: simulator.limits.buckets() }),
  },
  {
    method: 'PATCH',
    path: '/control/limits',
    summary: 'Changes limits; a changed one starts with full buckets.',
    status: 200,
    body: limitOverridesSchema,
    result: limitOverridesSchema,
    run: ({ simulator, body }) => simulator.limits.patch(body as LimitOverrides),
  },
  {
    method: 'POST',
    path: '/control/limits/reset',
    summary: 'Fills every bucket.',
    status: 200,
    result: z.strictObject({ status: z.literal('ok') }),
    run: ({ simulator }) => {
      simulator.limits.reset();
      return { status: 'ok' };
    },
  },
];
