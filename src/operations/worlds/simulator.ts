/**
 * The operations on a simulator as a whole: its health, state, metrics, journal, reset and
 * shutdown.
 */
// Not the global one, which a test may fake.
import { setImmediate } from 'node:timers';
import { z } from 'zod';
import { withChangedLines } from '#judging/evidence/journal-checksum.ts';
import { eachOf } from '../../config/each-of.ts';
import { OperationRefused } from '../../sim/operation-refused.ts';
import { defineOperation, WholeReply } from '../define.ts';
import { clockJoin, clockState, clockStateSchema } from '../service/clock-state.ts';
import { invariantsOf, invariantsQuerySchema, invariantsSchema } from './invariants.ts';
import { metrics } from './metrics.ts';
import { stateJoin, stateOf, stateSchema } from './state.ts';

/** What health and changes are answered from the signal on that stops the process. */
export const draining = 'draining: requests in flight are finished, then the process ends';

export const simulator = {
  health: defineOperation({
    http: 'GET /control/health',
    fleet: { ofServer: true },
    summary:
      'Answers once both ports listen; 503 with the reason once a journal cannot be written, and ' +
      'while the process drains.',
    output: z.strictObject({ status: z.literal('ok') }),
    refusals: [503],
    run: (live) => {
      if (live.isClosing) throw new OperationRefused('unavailable', draining);
      const { hosting } = live;
      const others = hosting.isFirst(live) ? hosting.list.map(({ simulator }) => simulator) : [];
      const failing = [live, ...others].find(({ journalFailure }) => journalFailure !== undefined);
      if (failing === undefined) return { status: 'ok' };
      throw new OperationRefused('unavailable', failing.journalFailure ?? '');
    },
  }),

  state: defineOperation({
    http: 'GET /control/state',
    summary: 'The clock, and counts of what the simulator holds.',
    output: stateSchema,
    fleet: { joined: stateJoin },
    run: stateOf,
    reply: (state, live, { host }) => ({ ...state, base_url: live.urlsFor(host).baseUrl }),
  }),

  invariants: defineOperation({
    http: 'GET /control/invariants',
    summary: 'Checks all invariants of the world; walks its whole state.',
    input: invariantsQuerySchema,
    output: invariantsSchema,
    fleet: {
      joined: {
        sound: 'every',
        checked: {
          ...eachOf(['accounts', 'devices'], 'equal'),
          ...eachOf(['messages', 'replays', 'buckets', 'timers'], 'sum'),
          keys: 'computed',
        },
        broken: { all: 'unchanged' },
      },
    },
    examples: [{ snapshot: 'false' }],
    run: invariantsOf,
  }),

  metrics,

  reset: defineOperation({
    http: 'POST /control/reset',
    summary:
      'Restores the world as it was at the start, clock included, and empties the log of requests.',
    // The start of the new clock: read here, given by a journal, and never by a caller.
    input: z.custom<number>(),
    inputFrom: ({ wallClock }) => wallClock.startMs(),
    arguments: () => undefined as never,
    output: clockStateSchema,
    fleet: { changesKeys: true, joined: clockJoin },
    recorded: 'reset',
    run: (live, startMs) => {
      live.replace(live.freshSimulation(startMs));
      live.exchangeRecord.clear();
      live.wallClock.restart();
      live.activity.publish('clock', clockState(live));
    },
    reply: (_, live) => clockState(live),
  }),

  shutdown: defineOperation({
    http: 'POST /control/shutdown',
    fleet: { ofServer: true, scope: 'all' },
    summary: 'Stops the simulator as SIGTERM does, after this reply.',
    status: 202,
    output: z.strictObject({ status: z.literal('stopping') }),
    refusals: [409],
    run: (live) => {
      if (!live.hosting.isFirst(live)) {
        const message =
          'a world does not stop the server: DELETE /control/worlds/<world_id> ends the world';
        throw new OperationRefused('conflict', message);
      }
      // Deferred, so that the reply is sent first.
      setImmediate(() => live.shutdown());
    },
    reply: () => ({ status: 'stopping' }),
  }),

  journal: defineOperation({
    http: 'GET /control/journal',
    fleet: { scope: 'named' },
    summary:
      'The run as NDJSON: seed and settings, then every input with its simulated time, since the checkpoint if the header names one. Without --journal, the inputs that memory keeps.',
    contentType: 'application/x-ndjson',
    output: z.string(),
    refusals: [409],
    run: (live) => live.journalText(),
    reply: (text, { simulation }) => {
      const { texts } = simulation.world.keyRing;
      const content = withChangedLines(text, (line) => texts.hidden(line));
      return new WholeReply({ status: 200, content, contentType: 'application/x-ndjson' });
    },
  }),
};
