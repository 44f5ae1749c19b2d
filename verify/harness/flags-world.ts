/**
 * A simulator that looks to the harness like a real service: it has no control port, runs in real
 * time or several times as fast, and polls every second. Its world has what each flag of `conform`
 * describes. The harness runs against it with flags only, on one clock.
 */
import type { Clock } from '#conformance/target/client.ts';
import { type InternalOptions, type SettingsInput, Simulator } from '#src/simulator.ts';
import { type ConformReport, runConformWithReport, scaledClock } from '../testkit/conform-run.ts';

/** The second SIM of its account, so that a server which takes the first SIM is noticed. */
const mainFrom = '+12025550102';
const inactiveFrom = '+12025550103';
const secondFrom = '+12025550111';
const exhaustedFrom = '+12025550121';
const poolFrom = '+12025550190';
/** A number of no SIM. */
const unknownFrom = '+12025550199';

export const flagsSettings: SettingsInput = {
  clock: 'real',
  world: {
    accounts: [
      {
        name: 'main',
        keys: [{ name: 'revoked' }, { name: 'main' }, { name: 'other' }],
        sims: [
          { number: '+12025550101' },
          { number: mainFrom },
          { number: inactiveFrom, active: false },
        ],
      },
      { name: 'second', sims: [{ number: secondFrom }] },
      { name: 'exhausted', monthly_quota: 0, sims: [{ number: exhaustedFrom }] },
    ],
    pool: [{ number: poolFrom }],
  },
};

/** The flags of `conform` that describe the world of `flagsSettings`. Revokes its key `revoked`. */
export function flagValuesOf(simulator: Simulator) {
  const accounts = [...simulator.simulation.world.accounts.values()];
  const keysOf = (name: string) => accounts.find((account) => account.name === name)?.keys ?? [];
  const [revoked, key, other] = keysOf('main');
  if (revoked !== undefined) simulator.accounts.revokeKey(revoked.keyId);
  return {
    'api-key': key?.key ?? '',
    'other-api-key': other?.key ?? '',
    'second-api-key': keysOf('second')[0]?.key ?? '',
    'revoked-key': revoked?.key ?? '',
    'exhausted-api-key': keysOf('exhausted')[0]?.key ?? '',
    from: mainFrom,
    'second-from': secondFrom,
    'exhausted-from': exhaustedFrom,
    'inactive-from': inactiveFrom,
    'foreign-from': secondFrom,
    'unknown-from': unknownFrom,
    to: '+12025550150',
    'device-id': simulator.readyFile().accounts[0]?.sims[1]?.device_id ?? '',
  };
}

export interface ServedWithFlags {
  readonly baseUrl: string;
  /** The flags of `conform`, ready for a command line. */
  readonly flags: readonly string[];
  /** A clock for the harness at the simulator's speed. */
  readonly clock: Clock;
  close(): Promise<void>;
}

export interface FlagsWorldPlan extends Pick<InternalOptions, 'simulation'> {
  readonly assumptions?: Readonly<Record<string, unknown>>;
  /** Simulated seconds per second of the wall clock. */
  readonly rate?: number;
  /** The device of `--from` polls for tasks over HTTP every second, as a paired telephone does. */
  readonly asksForTasks?: boolean;
  /** The device of `--from` gets its work as tasks, for which only the harness polls. */
  readonly isUnattended?: boolean;
  /** Flags that are left out. */
  readonly without?: readonly string[];
  /** Starts a disturbance when the server listens; returns a function that ends it. */
  readonly disturb?: (simulator: Simulator, key: string) => () => void;
}

/** Starts the simulator on a free port. */
export async function serveWithFlags({
  assumptions = {},
  rate = 1,
  asksForTasks = false,
  isUnattended = false,
  disturb,
  without = [],
  ...options
}: FlagsWorldPlan = {}): Promise<ServedWithFlags> {
  const simulator = new Simulator(
    {
      ...flagsSettings,
      ...(rate !== 1 && { clock: 'scaled', rate }),
      assumptions: { pollIntervalSeconds: 1, ...assumptions },
    },
    { journal: false, ...options },
  );
  const { baseUrl } = await simulator.listen();
  simulator.wallClock.catchUp();
  const clock = scaledClock(rate, simulator.simulation.clock.now());
  const values = flagValuesOf(simulator);
  const { 'api-key': key, 'device-id': deviceId } = values;
  if (asksForTasks || isUnattended) simulator.sims.patch(deviceId, { polling: 'external' });
  const polling = asksForTasks
    ? setInterval(() => simulator.sims.poll(deviceId), 1_000 / rate).unref()
    : undefined;
  const endDisturbance = disturb?.(simulator, key);
  return {
    baseUrl,
    clock,
    flags: Object.entries(values).flatMap(([name, value]) =>
      without.includes(name) ? [] : [`--${name}`, value],
    ),
    close: () => {
      clearInterval(polling);
      endDisturbance?.();
      return simulator.close();
    },
  };
}

/** Fast enough for a test; slow enough that a request takes a small part of a simulated second. */
export const testRate = 8;

/** Runs the harness against a new simulator of this plan. `seconds`: of the target's time. */
export async function runWithFlags(
  argv: readonly string[],
  plan: FlagsWorldPlan = {},
): Promise<ConformReport & { readonly seconds: number }> {
  const { baseUrl, flags, clock, close } = await serveWithFlags(plan);
  const startedMs = clock.now();
  try {
    const args = [baseUrl, ...argv, ...flags, '--timeout', '2m'];
    const report = await runConformWithReport(args, { clock });
    return { ...report, seconds: (clock.now() - startedMs) / 1000 };
  } finally {
    await close();
  }
}
