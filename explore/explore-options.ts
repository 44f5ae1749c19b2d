/** Checks what callers pass to `explore()`, and fills in the defaults. */
import { z } from 'zod';
import { type FaultName, faultNames, isCrash, type Schedule } from '#contract/fault-schedule.ts';
import { durationMs } from '#src/operations/query.ts';
import type { SettingsInput } from '#src/simulator.ts';
import type { Client } from './in-process-run.ts';
import { parsed, scheduleSchema } from './schedule.ts';

/** The client, and how far to explore it. */
export interface ExploreOptions {
  /** Called once for each run, each time with a fresh world. It passes if it resolves. */
  readonly client: Client;
  /** Faults per schedule, at most. Default 2. */
  readonly depth?: number;
  /** Runs of the client, at most; those that confirm and shrink included. Default 500. */
  readonly maxRuns?: number;
  /** Default: all. */
  readonly faults?: readonly FaultName[];
  /** How long `slow` holds a reply. Default `'3s'`. */
  readonly slow?: string | number;
  /**
   * How long the `throttle` faults of a schedule ask the client to wait, in order, rounded up to
   * whole seconds. Further ones use the last value. By default more than twice as long as the
   * client waits by itself.
   */
  readonly throttleWaits?: readonly (string | number)[];
  /** Simulated time that a run may take. Default `'10m'`. */
  readonly timeout?: string | number;
  /** The seed of the simulator. Default 1. */
  readonly seed?: number;
  /** Settings of the simulator, without the clock and the seed. */
  readonly settings?: Omit<SettingsInput, 'clock' | 'seed'>;
  /** Run only this schedule. */
  readonly schedule?: Schedule;
  /** Stop at the first finding. */
  readonly bail?: boolean;
  /** True if a run does not fail only because the client rejects. */
  readonly clientMayFail?: boolean;
}

const expectedDuration = 'expected a duration above 0, such as "3s", or milliseconds';

const durationSchema = z.unknown().transform((value, context) => {
  try {
    const ms = durationMs(value as string | number, '');
    if (ms > 0) return ms;
  } catch {
    // Reported below, with the other unusable values.
  }
  context.addIssue({ code: 'custom', message: expectedDuration });
  return z.NEVER;
});

const needsCommand = 'a function cannot crash alone: run a command by smstwin explore --crash';

const optionsSchema = z.strictObject({
  client: z.custom<Client>((client) => typeof client === 'function', {
    error: 'expected a function, which runs the client once',
  }),
  depth: z.int().min(1).max(10).default(2),
  maxRuns: z.int().min(1).max(1_000_000).default(500),
  faults: z
    .array(z.enum(faultNames).refine((name) => !isCrash(name), { error: needsCommand }))
    .min(1)
    .default(faultNames.filter((name) => !isCrash(name))),
  slow: durationSchema.prefault('3s'),
  throttleWaits: z
    // `Retry-After` is in whole seconds.
    .array(durationSchema.transform((ms) => Math.ceil(ms / 1_000)))
    .min(1)
    .optional(),
  timeout: durationSchema.prefault('10m'),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(1),
  settings: z
    .custom<Omit<SettingsInput, 'clock' | 'seed'>>(
      (settings) => typeof settings === 'object' && settings !== null && !Array.isArray(settings),
      { error: 'expected an object' },
    )
    .default({}),
  schedule: scheduleSchema
    .refine((schedule) => !schedule.some(({ fault }) => isCrash(fault)), { error: needsCommand })
    .optional(),
  bail: z.boolean().default(false),
  clientMayFail: z.boolean().default(false),
});

/** Throws a UsageError that lists every mistake. */
export function checkedOptions(options: ExploreOptions): z.output<typeof optionsSchema> {
  return parsed(optionsSchema, options, 'explore()');
}
