/**
 * The simulator as a whole: is it up, start over.
 */
import { z } from 'zod';
import { clockStateSchema } from '../../levers/clock.ts';
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
];
