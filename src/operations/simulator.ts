/**
 * The operations on the simulator as a whole: health, state, reset, shutdown, and its journal.
 */
// Not the global one, which a test may fake.
import { setImmediate } from 'node:timers';
import { z } from 'zod';
import { clockState, clockStateSchema } from './clock-state.ts';
import { defineOperation, WholeReply } from './define.ts';
import { invariantsOf, invariantsQuerySchema, invariantsSchema } from './invariants.ts';
import { metrics } from './metrics.ts';
import { stateOf, stateSchema } from './state.ts';

export const simulator = {
  health: defineOperation({
    name: 'simulator.health',
    http: 'GET /control/health',
    summary: 'Answers once both ports listen.',
    output: z.strictObject({ status: z.literal('ok') }),
    run: () => ({ status: 'ok' }),
  }),

  state: defineOperation({
    name: 'simulator.state',
    http: 'GET /control/state',
    summary: 'The clock, and counts of what the simulator holds.',
    output: stateSchema,
    run: stateOf,
  }),

  /** Checks all invariants of the world: what was checked, and what is broken. */
  invariants: defineOperation({
    name: 'simulator.invariants',
    http: 'GET /control/invariants',
    summary: 'Checks all invariants of the world; walks its whole state.',
    input: invariantsQuerySchema,
    output: invariantsSchema,
    examples: [{ snapshot: 'false' }],
    run: invariantsOf,
  }),

  metrics,

  /**
   * Restores the start state, clock included. Journals record the simulated time of the new start.
   */
  reset: defineOperation({
    name: 'simulator.reset',
    http: 'POST /control/reset',
    summary:
      'Restores the world as it was at the start, clock included, and empties the log of requests.',
    input: z.custom<number>(),
    inputFrom: (live) => live.startMs(),
    arguments: () => undefined as never,
    output: clockStateSchema,
    recorded: 'reset',
    run: (live, startMs) => {
      live.replace(live.freshSimulation(startMs));
      live.requestLog.clear();
      live.wallClock.restart();
      live.activity.publish('clock', clockState(live));
    },
    reply: (_, live) => clockState(live),
  }),

  shutdown: defineOperation({
    name: 'simulator.shutdown',
    http: 'POST /control/shutdown',
    summary: 'Stops the simulator as SIGTERM does, after this reply.',
    status: 202,
    output: z.strictObject({ status: z.literal('stopping') }),
    // Deferred, so that the reply is sent first.
    run: (live) => void setImmediate(() => live.shutdown()),
    reply: () => ({ status: 'stopping' }),
  }),

  journal: defineOperation({
    name: 'simulator.journal',
    http: 'GET /control/journal',
    summary:
      'The run as NDJSON: seed and settings, then every input with its simulated time, since the checkpoint if the header names one. Without --journal, the inputs that memory keeps.',
    contentType: 'application/x-ndjson',
    output: z.string(),
    refusals: [409],
    run: (live) => live.journalText(),
    reply: (content) =>
      new WholeReply({ status: 200, content, contentType: 'application/x-ndjson' }),
  }),
};
