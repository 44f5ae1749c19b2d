/**
 * The settings of a simulator: what users give (`SettingsInput`) is parsed once into one readonly
 * value (`Settings`). The world in them takes precedence over the document's numbers and over the
 * defaults of assumptions; the other settings take precedence over the world.
 * Rules: LIMIT-1 to LIMIT-7, ERR-1. Assumes: clientIp (`trustProxy`), and any by override.
 */
import { z } from 'zod';
import {
  documentedLimitsPerMinute,
  endpointNames,
  type LimitsPerMinute,
} from '#contract/limits.ts';
import { eachOf } from '#io/grouped.ts';
import { SettingsError } from '#io/mistakes.ts';
import { type Assumptions, defaultAssumptions } from '../sim/assumptions.ts';
import { latestTimeMs } from '../sim/clock.ts';
import { assumptionsSchema, mistakesInSettings } from './given-assumptions.ts';
import {
  type DeepReadonly,
  type LimitOverrides,
  limitOverridesSchema,
  type WorldFixture,
  type WorldFixtureInput,
  type WorldSim,
  worldSchema,
} from './world-schema.ts';

/** The clock modes that users choose by name. */
export const clockModes = ['real', 'scaled', 'manual'] as const;
/** All clock modes. A *bound* clock follows a function of the process, given as `{ now }`. */
export const allClockModes = [...clockModes, 'bound'] as const;
export type ClockMode = (typeof allClockModes)[number];
/** The kinds of seconds that `Retry-After` may count on a scaled clock. */
export const retryAfterSeconds = ['simulated', 'real'] as const;
/** The HTTP servers to choose from: HyperExpress, which is native, and Node's own. */
export const transports = ['hyperexpress', 'node'] as const;
export const logModes = ['off', 'text', 'json'] as const;
/** Rates of a scaled clock, in simulated seconds per second. */
export const defaultRate = 60;
export const largestRate = 1_000_000;
const defaultManualStart = '2026-01-01T00:00:00.000Z';

const startError =
  'expected an ISO 8601 time with its zone, such as "2026-01-01T00:00:00.000Z", or milliseconds ' +
  'since 1970';
/** The earliest start. It is not 0, which lru-cache reads as "no expiry". */
const earliestStartMs = Date.parse('1970-01-02T00:00:00.000Z');

/** A time as ISO 8601 or in milliseconds; parsed to whole epoch milliseconds. */
export const startTimeSchema = z
  .union([z.number(), z.iso.datetime({ offset: true, error: startError })], { error: startError })
  .transform((time) => (typeof time === 'number' ? Math.trunc(time) : Date.parse(time)))
  .refine((ms) => ms >= earliestStartMs && ms <= latestTimeMs, {
    error: 'expected a time between the years 1970 and 9000',
  });

const clockError = `expected ${clockModes.map((mode) => `"${mode}"`).join(', ')} or { now: <a function> }`;

/** Calls the function of a bound clock; returns whole epoch milliseconds or throws a TypeError. */
export function readBound(now: () => number): number {
  const ms = Math.floor(now());
  if (Number.isSafeInteger(ms)) return ms;
  throw new TypeError(`clock.now: expected epoch milliseconds; got ${ms}`);
}

const boundClockSchema = z
  .strictObject({
    now: z.custom<() => number>((now) => typeof now === 'function', {
      error: 'expected a function that returns epoch milliseconds, such as () => Date.now()',
    }),
  })
  .superRefine(({ now }, context) => {
    const ms = Number(now());
    if (ms >= earliestStartMs && ms <= latestTimeMs) return;
    const message = `expected a time between the years 1970 and 9000; got ${ms}: set the time before`;
    context.addIssue({ code: 'custom', path: ['now'], message });
  });

/** How many messages a world holds. The default, if absent, has extra room for unfinished ones. */
export const maxMessagesSchema = z.union([z.int().min(1), z.literal('unlimited')], {
  error: 'expected a whole number above 0, or "unlimited"',
});

/** The name of one world among several. Its keys and ids are drawn from the name and the seed. */
export const worldNameSchema = z.string().regex(/^[ -~\u00A0-\uFFFF]{1,200}$/, {
  error: 'expected 1 to 200 characters, without control characters',
});

export const rateSchema = z
  .number()
  .positive({ error: 'expected a number above 0' })
  .max(largestRate);
export const largestSeed = 2 ** 32 - 1;
export const seedSchema = z.int().min(0).max(largestSeed);

const keys = [{ name: 'default' }];

/** In parsed form, because the schema below takes its default unparsed. */
export const defaultWorld: WorldFixture = {
  accounts: [
    { name: 'acme', keys, sims: [simOf('+12025550101'), simOf('+12025550102')] },
    { name: 'globex', keys, sims: [simOf('+12025550111')] },
    { name: 'initech', keys, sims: [] },
  ],
  pool: [{ number: '+12025550190' }],
  outcomes: [],
  assumptions: {},
  limits: {},
};

function simOf(number: string): WorldSim {
  return { number, connected: true, active: true, polling: 'simulated' };
}

const settingsObject = z.strictObject({
  name: worldNameSchema.optional(),
  clock: z.union([z.enum(clockModes), boundClockSchema], { error: clockError }).default('real'),
  rate: rateSchema.optional(),
  startTime: startTimeSchema.optional(),
  retryAfterSeconds: z.enum(retryAfterSeconds).default('simulated'),
  seed: seedSchema.default(1),
  world: worldSchema.default(() => structuredClone(defaultWorld) as z.output<typeof worldSchema>),
  assumptions: assumptionsSchema.default(() => ({})),
  limits: limitOverridesSchema.default(() => ({})),
  noLimits: z.boolean().default(false),
  maxMessages: maxMessagesSchema.optional(),
  trustProxy: z.boolean().default(false),
  log: z.enum(logModes).default('off'),
});
/** All settings: `verify/repository/settings.test.ts` checks where each can be given. */
export const settingNames: readonly string[] = Object.keys(settingsObject.shape);

const settingsSchema = settingsObject
  .superRefine(
    ({ clock, rate, startTime }, context) => {
      if (rate !== undefined && isOtherClock(clock, 'scaled'))
        context.addIssue({ code: 'custom', path: ['rate'], message: onlyWith('scaled') });
      if (startTime !== undefined && isOtherClock(clock, 'manual'))
        context.addIssue({ code: 'custom', path: ['startTime'], message: onlyWith('manual') });
    },
    // Runs also if another field is wrong, so that all mistakes are reported at once.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  )
  .transform(({ clock, startTime, rate, ...rest }) => ({
    ...rest,
    clock: typeof clock === 'object' ? ('bound' as const) : clock,
    /** The function that a bound clock follows. */
    boundTo: typeof clock === 'object' ? clock.now : undefined,
    /** Simulated milliseconds per real millisecond, on a scaled clock. */
    rate: rate ?? defaultRate,
    /** The start of a manual clock; the other modes start at the present. */
    startTimeMs: startTime ?? Date.parse(defaultManualStart),
  }));

/** The argument of `createSimulator`; every field is optional. */
export interface SettingsInput {
  /** The name of one world among several. Its keys and ids follow from the name and the seed. */
  readonly name?: string | undefined;
  /**
   * What moves simulated time: `manual` only your calls, `real` (default) the wall clock, `scaled`
   * a faster one; `{ now }` follows a function, such as one over fake timers.
   */
  readonly clock?: 'manual' | 'real' | 'scaled' | { readonly now: () => number } | undefined;
  /** Simulated seconds per second; `scaled` only. Default 60. */
  readonly rate?: number | undefined;
  /** ISO 8601 with its zone, or epoch milliseconds; `manual` only. */
  readonly startTime?: string | number | undefined;
  /** Which seconds `Retry-After` counts on a scaled clock. Default `simulated`. */
  readonly retryAfterSeconds?: (typeof retryAfterSeconds)[number] | undefined;
  /** Keys, ids and random outcomes follow from it. Default 1. */
  readonly seed?: number | undefined;
  /** Accounts, keys, SIMs, the pool and fates, as in a world file. */
  readonly world?: WorldFixtureInput | undefined;
  /** Other answers than the defaults where the document is silent. */
  readonly assumptions?: Partial<Assumptions> | undefined;
  /** Requests per minute for each endpoint; null for no limit. */
  readonly limits?: LimitOverrides | undefined;
  /** Removes rate limits and quotas. */
  readonly noLimits?: boolean | undefined;
  /** Messages to hold; above this the oldest final ones are forgotten. */
  readonly maxMessages?: number | 'unlimited' | undefined;
  /** Reads the client's address from `X-Forwarded-For`. */
  readonly trustProxy?: boolean | undefined;
  /** What `serve` prints for each request. */
  readonly log?: (typeof logModes)[number] | undefined;
}
/** Parsed settings, with all defaults. */
export type Settings = DeepReadonly<z.output<typeof settingsSchema>>;

/** Throws a SettingsError that lists every mistake with its path. */
export function parseSettings(input: unknown = {}): Settings {
  const reading = settingsSchema.safeParse(input, { reportInput: true });
  if (!reading.success) throw new SettingsError(mistakesInSettings(reading.error));
  return reading.data;
}

/**
 * The HTTP server that a run has by default. A recorded run and a scaled clock need Node's: the
 * native one cannot hold a reply for a shared write, and its `Date` shows real time.
 */
export function defaultTransport(run: {
  readonly isRecorded: boolean;
  readonly isScaled: boolean;
}): (typeof transports)[number] {
  return run.isRecorded || run.isScaled ? 'node' : 'hyperexpress';
}

/**
 * The answers in force: the ledger's defaults, overridden by the world, then by the settings.
 * `trustProxy` is short for `clientIp: x_forwarded_for`.
 */
export function assumptionsOf(settings: Settings): Assumptions {
  return {
    ...defaultAssumptions,
    ...settings.world.assumptions,
    ...(settings.trustProxy ? { clientIp: 'x_forwarded_for' } : {}),
    ...settings.assumptions,
  };
}

/** Requests per minute for each endpoint; null means unlimited. */
export function limitsOf(settings: Settings): LimitsPerMinute {
  if (settings.noLimits) return eachOf(endpointNames, null);
  return { ...documentedLimitsPerMinute, ...settings.world.limits, ...settings.limits };
}

/** The settings that a new world takes from the server: all but explicit keys, which are unique. */
export function inheritedSettings(settings: Settings): SettingsInput {
  const { name: _, clock, boundTo, rate, startTimeMs, world, ...rest } = settings;
  return {
    ...rest,
    clock: clock === 'bound' ? { now: boundTo ?? Date.now } : clock,
    ...(clock === 'scaled' && { rate }),
    ...(clock === 'manual' && { startTime: startTimeMs }),
    world: withDrawnKeys(world),
  };
}

/** The world with drawn keys in place of explicit ones, whose text must stay in one place. */
export function withDrawnKeys(world: Settings['world']): WorldFixtureInput {
  const accounts = world.accounts.map((account) => ({
    ...account,
    keys: account.keys.map(({ name }) => ({ name })),
  }));
  return { ...world, accounts };
}

/** True for a valid clock of another mode. An invalid clock is reported by itself. */
function isOtherClock(clock: unknown, mode: (typeof clockModes)[number]): boolean {
  const isKnown = typeof clock !== 'string' || clockModes.some((each) => each === clock);
  return isKnown && clock !== mode;
}

function onlyWith(mode: (typeof clockModes)[number]): string {
  return `only a ${mode} clock takes it: set clock to "${mode}"`;
}
