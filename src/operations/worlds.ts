/**
 * The operations on worlds: isolated simulators of one server, each with its own accounts, clock,
 * limits, faults and seed. With them, parallel tests share a process and do not meet.
 */
import { z } from 'zod';
import { SettingsError } from '../config/mistakes.ts';
import {
  clockModes,
  inheritedSettings,
  maxMessagesSchema,
  rateSchema,
  type SettingsInput,
  seedSchema,
  startTimeSchema,
  worldNameSchema,
} from '../config/settings.ts';
import { assumptionsSchema, limitOverridesSchema, worldSchema } from '../config/world-schema.ts';
import { JournalError } from '../recording/journal-error.ts';
import { isoTime } from '../sim/clock.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import type { ApiKey } from '../sim/records.ts';
import { forkedKey } from '../worlds/fork.ts';
import type { HostedWorld } from '../worlds/hosted-world.ts';
import type { WorldOptions } from '../worlds/worlds.ts';
import { defineOperation } from './define.ts';
import { durationMs, timeSchema } from './duration.ts';
import type { Live } from './live.ts';
import { atInstant, instantSchema } from './past.ts';
import { readyNumbers, readyNumbersSchema } from './ready-numbers.ts';

/** What a created world and a fork can both be given. */
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

const viewSchema = z
  .strictObject({
    world_id: z.string(),
    name: z.string(),
    base_url: z
      .string()
      .meta({ title: 'Base URL' })
      .describe('All URLs are empty while the server does not listen.'),
    host_url: z.string(),
    control_url: z.string(),
    expires_at: timeSchema
      .meta({ title: 'Expires (real time)' })
      .describe('ISO 8601 UTC, in real time; null: never.')
      .nullable(),
    messages: z.int().min(0).describe('Messages that it holds.'),
  })
  .meta({ id: 'World' });
type View = Readonly<z.output<typeof viewSchema>>;

/** AUTH-2: also shows the keys that the world has from its start, and no later one. */
const createdSchema = viewSchema.extend(readyNumbersSchema.shape).meta({ id: 'CreatedWorld' });
type Created = Readonly<z.output<typeof createdSchema>>;

export const worlds = {
  list: defineOperation({
    http: 'GET /control/worlds',
    ofServer: true,
    summary: 'The worlds that were created and still exist.',
    output: z.strictObject({ worlds: z.array(viewSchema) }),
    run: ({ hosting }) => hosting.list.map(viewOf),
    // `reply` knows the Host by which this client reached the port; `run` also serves the method.
    reply: (worlds, live, { host }) => ({
      worlds: worlds.map((view) => reachedBy(view, live, host)),
    }),
  }),

  create: defineOperation({
    http: 'POST /control/worlds',
    showsKeys: true,
    ofServer: true,
    changesKeys: true,
    scope: 'owner',
    summary: 'Creates an isolated world.',
    description:
      'Absent settings are those of the server, except for explicit keys: keys are then drawn.',
    status: 201,
    input: createSchema.prefault({}),
    output: createdSchema,
    refusals: [409, 503],
    examples: [{ name: 'checkout-3', clock: 'manual', ttl: '10m' }],
    run: ({ hosting }, input) => {
      const serverSettings = inheritedSettings(hosting.first.simulator.settings);
      const settings = settingsOf(input, serverSettings);
      return createdView(refusing(() => hosting.create(settings, optionsOf(input))));
    },
    reply: (view, live, { host }) => reachedBy(view, live, host),
  }),

  get: defineOperation({
    http: 'GET /control/worlds/{world_id}',
    showsKeys: true,
    ofServer: true,
    summary:
      'One world, as its creation answered; `default` is the one that the server started with.',
    description:
      'Shows the keys that follow from the seed or the world file, and no key that was created later or revoked.',
    output: createdSchema,
    run: (_, world) => ({
      ...viewOf(world),
      ...readyNumbers(world.simulator.simulation.world, isStartKeyOf(world.simulator)),
    }),
    reply: (view, live, { host }) => reachedBy(view, live, host),
  }),

  delete: defineOperation({
    http: 'DELETE /control/worlds/{world_id}',
    ofServer: true,
    changesKeys: true,
    summary: 'Deletes a world with everything in it.',
    refusals: [409],
    run: ({ hosting }, world) => void hosting.delete(world),
  }),

  fork: defineOperation({
    http: 'POST /control/worlds/{world_id}/fork',
    showsKeys: true,
    ofServer: true,
    changesKeys: true,
    summary:
      'Copies a world at this instant or an earlier one, clock included. The copy has its own keys.',
    status: 201,
    input: forkSchema.prefault({}),
    output: createdSchema,
    refusals: [409, 503],
    examples: [{ name: 'checkout-3-retry' }, { from: { entry: 1 } }],
    slices: forked,
    reply: (view, live, { host }) => reachedBy(view, live, host),
  }),
};

function* forked(
  { hosting }: Live,
  world: HostedWorld<Live>,
  { from, ...options }: z.output<typeof forkSchema>,
): Generator<undefined, Created> {
  const fork = (past?: Live) =>
    createdView(refusing(() => hosting.fork(world, optionsOf(options), past)));
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

/** Turns an error of `act` into a refusal that names the fields of the control port. */
function refusing<T>(act: () => T): T {
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

function viewOf(world: HostedWorld<Live>): View {
  const { worldId, name, expiresAtMs } = world;
  return {
    world_id: worldId,
    name,
    ...urlsOf(world),
    expires_at: expiresAtMs === undefined ? null : isoTime(expiresAtMs),
    messages: world.simulator.simulation.world.messages.size,
  };
}

/** Replaces the URLs by those for a client that reached the control port by this `Host`. */
function reachedBy<V extends View>(view: V, { hosting }: Live, host: string | undefined): V {
  const world = hosting.get(view.world_id);
  return world === undefined ? view : { ...view, ...urlsOf(world, host) };
}

function urlsOf({ worldId, simulator }: HostedWorld<Live>, host?: string) {
  const { baseUrl, controlUrl } = simulator.urlsFor(host);
  return { base_url: baseUrl, host_url: hostUrl(baseUrl, worldId), control_url: controlUrl };
}

function createdView(world: HostedWorld<Live>): Created {
  return { ...viewOf(world), ...readyNumbers(world.simulator.simulation.world) };
}

/**
 * Returns a test for the start keys that are not revoked. A fresh simulation has exactly these
 * keys. A fork derives new texts from the key ids of its source, so the derived texts are compared.
 */
function isStartKeyOf(simulator: Live): (key: ApiKey) => boolean {
  const fresh = simulator.freshSimulation(simulator.wallClock.startMs());
  fresh.stop();
  const { keyFormat } = simulator.simulation.world.assumptions;
  const isForked = ({ account: { accountId }, keyId, key }: ApiKey) =>
    key === forkedKey(fresh.world, { accountId, keyId }, keyFormat);
  return (key) =>
    key.revokedAtMs === undefined && (fresh.world.keys.has(key.keyId) || isForked(key));
}

/** The URL that names a world by its host; empty while the server does not listen. */
export function hostUrl(baseUrl: string, worldId: string): string {
  if (baseUrl === '') return '';
  const { protocol, port } = new URL(baseUrl);
  const name = protocol === 'https:' ? `${worldId}.world.localhost` : `${worldId}.localhost`;
  return `${protocol}//${name}${port === '' ? '' : `:${port}`}`;
}
