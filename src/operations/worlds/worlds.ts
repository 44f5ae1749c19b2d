/**
 * The operations on worlds: isolated simulators of one server, each with its own accounts, clock,
 * limits, faults and seed. With them, parallel tests share a process and do not meet.
 */
import { z } from 'zod';
import { eachOf } from '#io/grouped.ts';
import { SettingsError } from '#io/mistakes.ts';
import { JournalError } from '#judging/evidence/journal-line.ts';
import { assumptionsSchema } from '../../config/given-assumptions.ts';
import {
  clockModes,
  inheritedSettings,
  maxMessagesSchema,
  rateSchema,
  type SettingsInput,
  seedSchema,
  startTimeSchema,
  worldNameSchema,
} from '../../config/settings.ts';
import { limitOverridesSchema, worldSchema } from '../../config/world-schema.ts';
import { OperationRefused } from '../../sim/errors.ts';
import type { HostedWorld, WorldOptions } from '../../worlds/hosted-world.ts';
import { defineOperation } from '../define.ts';
import { durationMs } from '../input-fields.ts';
import type { RunningWorld } from '../running-world.ts';
import { atInstant, instantSchema } from './past.ts';
import {
  always,
  type CreatedWorld,
  createdView,
  createdWorldSchema,
  viewWithStartKeys,
  withUrlsFor,
  worldView,
  worldViewSchema,
} from './world-view.ts';

/** The fields that the inputs of `create` and `fork` share. */
const commonFields = {
  name: worldNameSchema
    .exactOptional()
    .describe('Its keys and ids follow from its seed and name. Default: its id.'),
  ttl: z
    .union([z.string(), z.number()])
    .exactOptional()
    .meta({ title: 'Time to live' })
    .describe('Real time without a request after which it is deleted, such as `10m`.'),
};

const settingsSchema = z.strictObject({
  ...commonFields,
  seed: seedSchema.exactOptional().describe('Keys, ids and random outcomes follow from it.'),
  clock: z.enum(clockModes).exactOptional().describe('What moves its simulated time.'),
  rate: rateSchema.exactOptional().describe('Simulated seconds per second; `scaled` only.'),
  start_time: startTimeSchema.exactOptional().describe('ISO 8601 with its zone; `manual` only.'),
  world: worldSchema.exactOptional().describe('As in a world file.'),
  assumptions: assumptionsSchema.exactOptional().describe('Answers that replace the defaults.'),
  limits: limitOverridesSchema.exactOptional().describe('Requests per minute; null: no limit.'),
  no_limits: z.boolean().exactOptional().describe('No rate limits and no quotas.'),
  max_messages: maxMessagesSchema.exactOptional().describe('Messages to hold.'),
});
const forkSchema = z.strictObject({
  ...commonFields,
  from: instantSchema.exactOptional().describe('An earlier instant; default: now.'),
});
type CreateInput = z.output<typeof settingsSchema>;

/** Explains why a world takes no `journal`: a client could write any file. It changes no type. */
const createSchema = z.preprocess((value, context) => {
  if (typeof value !== 'object' || value === null || !('journal' in value)) return value;
  const message = 'no file is named here; start the server with serve --journal-dir DIR';
  context.issues.push({ code: 'custom', message, path: ['journal'], input: value.journal });
  return z.NEVER;
}, settingsSchema) as unknown as typeof settingsSchema;

export const worlds = {
  list: defineOperation({
    http: 'GET /control/worlds',
    fleet: { ofServer: true },
    summary: 'The worlds that were created and still exist.',
    output: z.strictObject({ worlds: z.array(worldViewSchema) }),
    run: ({ hostedWorlds }) => hostedWorlds.list.map(worldView),
    // `reply` knows the Host by which this client reached the port; `run` also serves the method.
    reply: (worlds, live, { host }) => ({
      worlds: worlds.map((view) => withUrlsFor(view, live, host)),
    }),
  }),

  create: defineOperation({
    http: 'POST /control/worlds',
    showsKeys: true,
    fleet: { ofServer: true, scope: 'owner', changesRoutes: true },
    summary: 'Creates an isolated world.',
    description:
      'Absent settings are those of the server, except for explicit keys: keys are then drawn.',
    status: 201,
    input: createSchema.prefault({}),
    output: createdWorldSchema,
    refusals: [409, 503],
    examples: [{ name: 'checkout-3', clock: 'manual', ttl: '10m' }],
    run: ({ hostedWorlds }, input) => {
      const serverSettings = inheritedSettings(hostedWorlds.first.simulator.settings);
      const settings = settingsOf(input, serverSettings);
      return createdView(
        refusingMistakes(() => hostedWorlds.create(settings, optionsOf(input))),
        always,
      );
    },
    reply: (view, live, { host }) => withUrlsFor(view, live, host),
  }),

  get: defineOperation({
    http: 'GET /control/worlds/{world_id}',
    showsKeys: true,
    summary:
      'One world, as its creation answered; `default` is the one that the server started with.',
    description:
      'Shows the keys that follow from the seed or the world file, and no key that was created later or revoked.',
    output: createdWorldSchema,
    fleet: {
      ofServer: true,
      joined: {
        ...eachOf(['world_id', 'name', 'expires_at', 'accounts', 'pool', 'forked_from'], 'equal'),
        created_at: 'earliest',
        ...eachOf(['base_url', 'host_url', 'control_url'], 'computed'),
        messages: 'sum',
      },
    },
    run: (_, world) => viewWithStartKeys(world),
    reply: (view, live, { host }) => withUrlsFor(view, live, host),
  }),

  delete: defineOperation({
    http: 'DELETE /control/worlds/{world_id}',
    fleet: { ofServer: true, changesRoutes: true },
    summary: 'Deletes a world with everything in it.',
    refusals: [409],
    run: ({ hostedWorlds }, world) => void hostedWorlds.delete(world),
  }),

  fork: defineOperation({
    http: 'POST /control/worlds/{world_id}/fork',
    showsKeys: true,
    fleet: { ofServer: true, changesRoutes: true },
    summary:
      'Copies a world at this instant or an earlier one, clock included. The copy has its own keys.',
    status: 201,
    input: forkSchema.prefault({}),
    output: createdWorldSchema,
    refusals: [409, 503],
    examples: [{ name: 'checkout-3-retry' }, { from: { entry: 1 } }],
    slices: forkWorld,
    reply: (view, live, { host }) => withUrlsFor(view, live, host),
  }),
};

function* forkWorld(
  { hostedWorlds }: RunningWorld,
  world: HostedWorld<RunningWorld>,
  { from, ...options }: z.output<typeof forkSchema>,
): Generator<undefined, CreatedWorld> {
  const fork = (past?: RunningWorld) =>
    createdView(
      refusingMistakes(() => hostedWorlds.fork(world, optionsOf(options), past)),
      always,
    );
  return from === undefined ? fork() : yield* atInstant(world.simulator, from, fork);
}

function optionsOf({ name, ttl }: Pick<CreateInput, 'name' | 'ttl'>): WorldOptions {
  const ttlMs = ttl === undefined ? undefined : durationMs(ttl, 'ttl');
  if (ttlMs !== 0) return { name, ttlMs };
  throw new OperationRefused('invalid', 'expected a duration above 0', 'ttl');
}

/** The settings of a world: those of the server where the input has none. */
function settingsOf(input: CreateInput, server: SettingsInput): SettingsInput {
  const { name: _, ttl: __, ...settings } = input;
  const {
    start_time: startTime,
    no_limits: noLimits,
    max_messages: maxMessages,
    ...own
  } = settings;
  const { rate, startTime: serverStartTime, ...inherited } = server;
  const isOtherClock = own.clock !== undefined && own.clock !== server.clock;
  return {
    ...inherited,
    // A rate and a start time belong to one mode of the clock.
    ...(!isOtherClock && { rate, startTime: serverStartTime }),
    ...own,
    ...(startTime !== undefined && { startTime }),
    ...(noLimits !== undefined && { noLimits }),
    ...(maxMessages !== undefined && { maxMessages }),
    assumptions: { ...server.assumptions, ...own.assumptions },
    limits: { ...server.limits, ...own.limits },
  };
}

/** Turns an error of `act` into a refusal, which names fields as the control port does. */
function refusingMistakes<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof JournalError) throw new OperationRefused('unavailable', error.message);
    if (!(error instanceof SettingsError)) throw error;
    const path = error.mistakes[0]?.path
      .replace('startTime', 'start_time')
      .replace('maxMessages', 'max_messages');
    throw new OperationRefused('invalid', error.message, path);
  }
}
