/** Runs the harness in this process: what it prints, its JSON report, and a fast clock for it. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConformIo, conform, type OwnSimulator } from '#conformance/main.ts';
import { type Clock, wallClock } from '#conformance/target/client.ts';
import { type InternalOptions, type SettingsInput, Simulator } from '#src/simulator.ts';
import { newIo } from './io-fixture.ts';

/** The fields of a result in the report that tests use. */
export interface CaseResult {
  readonly id: string;
  readonly subject: string;
  readonly kind: 'rule' | 'assumption';
  readonly verdict: string;
  readonly sends?: string;
  readonly reason?: string;
  readonly expected?: string;
  readonly actual?: string;
  readonly exchanges?: readonly unknown[];
}

/** What the command printed, and its exit code. */
export interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface ConformReport extends Printed {
  readonly exitCode: number;
  /** The length of the JSON report. */
  readonly reportBytes: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Requests to send endpoints. */
  readonly sends: number;
  readonly results: readonly CaseResult[];
  readonly assumptions: {
    readonly answers: Readonly<Record<string, unknown>>;
    readonly untold: Readonly<Record<string, string>>;
  };
}

/** Runs the command with these arguments, and seed 1 unless they name another. */
export async function runConform(
  argv: readonly string[],
  io: Partial<ConformIo> = {},
): Promise<Printed> {
  const { io: collecting, texts } = newIo();
  const seeded = argv.includes('--seed') ? argv : [...argv, '--seed', '1'];
  const { out, error } = collecting;
  const { signal } = new AbortController();
  const code = await conform(seeded, { out, error, signal, ...io });
  return { code, out: texts.out, err: texts.error };
}

/** Runs the command and reads its JSON report. Throws, with its stderr, if it writes none. */
export async function runConformWithReport(
  argv: readonly string[],
  io: Partial<ConformIo> = {},
): Promise<ConformReport> {
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-conform-'));
  const file = join(folder, 'report.json');
  const printed = await runConform([...argv, '--report', `json=${file}`], io);
  try {
    const text = await readFile(file, 'utf8');
    const reportBytes = Buffer.byteLength(text);
    return { ...JSON.parse(text), ...printed, reportBytes } as ConformReport;
  } catch (error) {
    throw new Error(`${argv.join(' ')}: ${String(error)} ${printed.err}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The flags with these values, by name, ready for a command line. */
export function flagsOf(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
}

/** The results that fail a rule or are errors of the harness itself. */
export function failures(results: readonly CaseResult[]): CaseResult[] {
  return results.filter(({ verdict }) =>
    ['failed', 'spelling', 'flaky', 'error'].includes(verdict),
  );
}

/** Starts a simulator with a control port, as `conform` does for a run without a base_url. */
export async function startOwnSimulator(
  settings: SettingsInput,
  options: InternalOptions = {},
): Promise<OwnSimulator> {
  const simulator = new Simulator(settings, { journal: false, ...options });
  const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
  if (controlUrl === null) throw new Error('the simulator has a control port');
  return { baseUrl, controlUrl, close: () => simulator.close() };
}

/**
 * A clock that runs `rate` times as fast as the wall clock. It reads the date, as the target's clock
 * does: a machine may correct its date, which a monotonic clock does not follow.
 */
export function scaledClock(rate: number, startMs = Date.now()): Clock {
  const began = Date.now();
  return {
    now: () => startMs + (Date.now() - began) * rate,
    sleep: (ms, signal) => wallClock.sleep(ms / rate, signal),
  };
}
