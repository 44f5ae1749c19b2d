/** The operations on a whole simulator, such as its health, metrics, journal and reset. */
// Not the global one, which a test may fake.
import { setImmediate } from 'node:timers';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { eachOf } from '#io/grouped.ts';
import { withChangedLines } from '#judging/evidence/journal-line.ts';
import { restoreSnapshot } from '../../recording/state/restore-state.ts';
import { type Snapshot, snapshotSchema } from '../../recording/state/state-format.ts';
import { takeSnapshot } from '../../recording/state/take-state.ts';
import { conflict, OperationRefused } from '../../sim/errors.ts';
import { Findings, mostLines } from '../../simulation/invariants/findings.ts';
import { walk } from '../../simulation/invariants/walk.ts';
import { familiesOf, mostLabelledWorlds } from '../../simulation/metrics/families.ts';
import { defineOperation, WholeReply } from '../define.ts';
import { readInput } from '../perform.ts';
import type { RunningWorld } from '../running-world.ts';
import { clockJoin, clockState, clockStateSchema } from '../views.ts';
import { stateJoin, stateOf, stateSchema } from './state.ts';

const querySchema = z
  .strictObject({
    world: z.string().min(1).max(100).exactOptional().describe('The metrics of this world alone.'),
    first: z
      .enum(['true', 'false'])
      .exactOptional()
      .describe('False: without the world that the server started with.'),
  })
  .default({});

/** The first world shows the metrics of all worlds; any other world shows its own. */
function* metricsOf(live: RunningWorld, { world, first: withFirst }: z.output<typeof querySchema>) {
  const { first, list } = live.hostedWorlds;
  const isFirst = live === first.simulator;
  if (world === undefined) {
    if (isFirst && withFirst === 'false') return yield* familiesOf(list, { isLabelled: true });
    return yield* familiesOf(isFirst ? [first, ...list] : [{ worldId: '', simulator: live }]);
  }
  const named = live.hostedWorlds.get(world);
  const isShown = named !== undefined && (isFirst || named.simulator === live);
  if (!isShown) throw new OperationRefused('invalid', `there is no world ${world} here`, 'world');
  return yield* familiesOf([named]);
}

const metrics = defineOperation({
  http: 'GET /control/metrics',
  fleet: { ofServer: true },
  summary: 'Metrics: OpenMetrics if `Accept` names it, otherwise the text format of Prometheus.',
  description:
    `Of several worlds, each sample has the label \`world\`. Of more than ${mostLabelledWorlds} ` +
    'worlds there are only totals; `world` selects one.',
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  input: querySchema,
  output: z.string(),
  examples: [{ world: 'default' }],
  slices: metricsOf,
  reply: async (families, _, headers) => {
    const { exposition } = await import('../../simulation/metrics/exposition.ts');
    const wantsOpenMetrics = headers['accept']?.includes('application/openmetrics-text') === true;
    const text = await exposition(families, wantsOpenMetrics ? 'openmetrics' : 'text');
    return new WholeReply({ status: 200, ...text });
  },
});

const countSchema = z.int().min(0);
const checkedNames = Object.keys(new Findings().checked) as (keyof Findings['checked'])[];

const invariantsQuerySchema = z
  .strictObject({
    snapshot: z
      .enum(['true', 'false'])
      .default('true')
      .describe('Also takes, restores and compares a snapshot.'),
  })
  .prefault({});

const invariantsSchema = z
  .strictObject({
    sound: z.boolean(),
    checked: z
      .strictObject(eachOf(checkedNames, countSchema))
      .describe('How many of each were checked.'),
    broken: z
      .array(z.string())
      .max(mostLines)
      .describe('One line per finding, with its rule; empty if the state is sound.'),
  })
  .meta({ id: 'Invariants' });
type Invariants = Readonly<z.output<typeof invariantsSchema>>;

/** Checks everything, without changing it. */
function invariantsOf(
  live: RunningWorld,
  { snapshot }: z.output<typeof invariantsQuerySchema>,
): Invariants {
  const found = walk(live.simulation);
  if (snapshot === 'true') checkRoundTrip(live, found);
  const { checked, broken } = found;
  return { sound: broken.length === 0, checked, broken };
}

/** Takes a snapshot, restores it, takes another, and compares the two. */
function checkRoundTrip({ simulation, settings, wallClock }: RunningWorld, found: Findings): void {
  try {
    const snapshot = readInput(
      snapshotSchema,
      JSON.parse(JSON.stringify(takeSnapshot({ simulation, wallClock }))),
    );
    const restored = restoreSnapshot(snapshot, { settings, keyTexts: new Map() });
    const again = takeSnapshot({ simulation: restored, wallClock });
    restored.stop();
    for (const part of Object.keys(snapshot) as (keyof Snapshot)[]) {
      if (isDeepStrictEqual(JSON.parse(JSON.stringify(again[part])), snapshot[part])) continue;
      found.report('snapshot', `part ${part} differs after restore`);
    }
  } catch (error) {
    found.report('snapshot', `is unusable: ${error instanceof Error ? error.message : error}`);
  }
}

/** The refusal of a change, and of health, once a signal has stopped the process. */
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
      const { hostedWorlds } = live;
      const others = hostedWorlds.isFirst(live)
        ? hostedWorlds.list.map(({ simulator }) => simulator)
        : [];
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
    // The start of the new clock. `inputFrom` reads it, or a journal has it; no caller gives it.
    input: z.custom<number>(),
    inputFrom: ({ wallClock }) => wallClock.restartMs(),
    arguments: () => undefined as never,
    output: clockStateSchema,
    fleet: { changesRoutes: true, joined: clockJoin },
    recorded: 'reset',
    run: (live, startMs) => {
      live.replace(live.simulationAtStart(startMs));
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
      if (!live.hostedWorlds.isFirst(live)) {
        throw conflict(
          'a world does not stop the server: DELETE /control/worlds/<world_id> ends the world',
        );
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
