/**
 * The clock on the control port.
 */
import {
  type Advance,
  advancedSchema,
  advanceSchema,
  clockModeSchema,
  clockStateSchema,
} from '../../operations/clock.ts';
import { readInput } from '../../operations/input.ts';
import type { Route } from './route.ts';

export const clockRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/clock',
    summary: 'Simulated time, and what waits for it.',
    status: 200,
    result: clockStateSchema,
    run: ({ simulator }) => simulator.clock.state(),
  },
  {
    method: 'PUT',
    path: '/control/clock',
    summary: 'Sets what moves simulated time, which goes on from where it is.',
    status: 200,
    body: clockModeSchema,
    result: clockStateSchema,
    run: ({ simulator, body }) => {
      const { mode, rate } = readInput(clockModeSchema, body);
      return simulator.clock.setMode(mode, rate);
    },
  },
  {
    method: 'POST',
    path: '/control/clock/advance',
    summary: 'Moves simulated time; answers when all that fell due has happened.',
    status: 200,
    body: advanceSchema,
    result: advancedSchema,
    // A bare duration is a convenience of the method alone.
    run: ({ simulator, body }) => simulator.clock.advance(asObject(body) as Advance),
  },
];

function asObject(body: unknown): unknown {
  return readInput(advanceSchema, body);
}
