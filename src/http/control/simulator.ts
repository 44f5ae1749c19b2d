/**
 * The simulator as a whole: is it up, what is in it, start over, stop.
 */
import { z } from 'zod';
import { clockStateSchema } from '../../operations/clock-state.ts';
import {
  type InvariantsQuery,
  invariantsQuerySchema,
  invariantsSchema,
} from '../../operations/invariants.ts';
import { stateSchema } from '../../operations/state.ts';
import type { Route } from './route.ts';

export const simulatorRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/health',
    summary: 'Answers once both ports listen.',
    status: 200,
    result: z.strictObject({ status: z.literal('ok') }),
    run: () => ({ status: 'ok' }),
  },
  {
    method: 'GET',
    path: '/control/state',
    summary: 'What there is, in numbers.',
    status: 200,
    result: stateSchema,
    run: ({ simulator }) => simulator.state(),
  },
  {
    method: 'GET',
    path: '/control/invariants',
    summary: 'Whether all that must hold of the world does; walks its whole state.',
    status: 200,
    query: invariantsQuerySchema,
    result: invariantsSchema,
    run: ({ simulator, query }) => simulator.invariants(query as InvariantsQuery),
  },
  {
    method: 'POST',
    path: '/control/reset',
    summary: 'The world as it was at start, clock included.',
    status: 200,
    result: clockStateSchema,
    run: ({ simulator }) => {
      simulator.reset();
      return simulator.clock.state();
    },
  },
  {
    method: 'POST',
    path: '/control/shutdown',
    summary: 'Stops the simulator, as SIGTERM does, once this is answered.',
    status: 202,
    result: z.strictObject({ status: z.literal('stopping') }),
    run: ({ simulator }) => {
      // The reply leaves first.
      setImmediate(() => simulator.shutdown());
      return { status: 'stopping' };
    },
  },
];
