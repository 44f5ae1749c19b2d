/**
 * Runs the client's command against a simulator that this process serves. Each run has a world of
 * its own; the command finds the world's address and key in its environment.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Schedule } from '#contract/fault-schedule.ts';
import { mostFileBytes, readText, reasonOf } from '#io/plain-file.ts';
import { shippedPath } from '#io/shipped-files.ts';
import { type ReportedIntent, reportsIn } from '#judging/client/intents-file.ts';
import { inheritedSettings } from '#src/config/settings.ts';
import { Simulation } from '#src/simulation/simulation.ts';
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import { type ChildOptions, runChild } from './child-run.ts';
import type { Ending, RawRun } from './client-run.ts';
import type { KnownIntents } from './points.ts';
import { credentialsOf, endingsIn, recordedBy, WatchedRun } from './watched-run.ts';

/** What a variable of the user's choice can be set to (`--env NAME=base_url`). */
export const variables = ['base_url', 'api_key', 'from', 'control_url'] as const;
export type Variable = (typeof variables)[number];

/** How long `throttle` holds its 429: the time in which workers of a client send "at once". */
const throttleHeldMs = 50;

const setByEachRun = [
  'SMSTWIN_BASE_URL',
  'SMSTWIN_CONTROL_URL',
  'SMSTWIN_API_KEY',
  'SMSTWIN_FROM',
  'SMSTWIN_INTENTS',
  'SMSTWIN_STATE',
  'SMSTWIN_EXPLORE',
  'SMSTWIN_RATE',
  'NODE_OPTIONS',
  'NO_PROXY',
  'no_proxy',
] as const;
/** Environment variables that each run sets itself, so a user cannot set them. */
export const reservedVariables: readonly string[] = setByEachRun;

interface CommandOptions extends Omit<ChildOptions, 'onStart'> {
  /** Further variables that the client reads, and what each is set to. */
  readonly ownVariables: readonly { readonly name: string; readonly value: Variable }[];
  readonly settings: Pick<SettingsInput, 'seed' | 'world'>;
  /** Simulated seconds per second; undefined for a real clock. */
  readonly rate: number | undefined;
  /** How long `slow` holds a reply, on the client's clock. */
  readonly slowMs: number;
}

export class CommandRuns {
  readonly #options: CommandOptions;
  readonly #simulator: Simulator;
  /** The runs, by the name of their world. */
  readonly #watched = new Map<string, WatchedRun>();
  readonly #folder = mkdtempSync(join(tmpdir(), 'smstwin-explore-'));
  #runs = 0;

  constructor(options: CommandOptions) {
    const { settings, rate } = options;
    this.#options = options;
    this.#simulator = new Simulator(
      { ...settings, ...(rate === undefined ? { clock: 'real' } : { clock: 'scaled', rate }) },
      {
        journal: false,
        simulation: (parsed, startMs) => {
          const simulation = new Simulation(parsed, startMs);
          simulation.faults.chooseFault = this.#watched.get(parsed.name ?? '')?.chooseFault;
          return simulation;
        },
      },
    );
  }

  /** Listens on Node's server, which can reset connections. Throws if no client can use the world. */
  async start(): Promise<void> {
    credentialsOf(this.#simulator.readyFile());
    await this.#simulator.listen({ control: {}, transport: 'node' });
  }

  async run(
    schedule: Schedule,
    knownIntents: KnownIntents,
    throttleWaits: readonly number[],
  ): Promise<RawRun> {
    const { slowMs, rate = 1 } = this.#options;
    const name = `explore-${++this.#runs}`;
    const watched = new WatchedRun(schedule, knownIntents, throttleWaits, Math.ceil(slowMs / rate));
    watched.heldMs = throttleHeldMs;
    this.#watched.set(name, watched);
    const { hostedWorlds, settings } = this.#simulator;
    const world = hostedWorlds.create(inheritedSettings(settings), { name });
    watched.recorded = () => recordedBy(world.simulator);
    const intentsFile = join(this.#folder, `${name}.ndjson`);
    const stateFolder = join(this.#folder, name);
    mkdirSync(stateFolder);
    try {
      const env = this.#environment(world.simulator, intentsFile, stateFolder);
      const ending = await this.#runUntilEnd(watched, env);
      const { seen, intents } = watched;
      const reports = reportsOf(intentsFile);
      const endsUndelivered = endingsIn(world.simulator);
      const run = { ending, seen, intents, endsUndelivered };
      if (typeof reports !== 'string') return { ...run, reports };
      // A client that was killed may have written half a line.
      const isWrong = ending.kind !== 'timeout';
      const failed: Ending = { ...ending, kind: 'failed', how: reports };
      return { ...run, ending: isWrong ? failed : ending, reports: undefined };
    } finally {
      this.#watched.delete(name);
      rmSync(intentsFile, { recursive: true, force: true });
      rmSync(stateFolder, { recursive: true, force: true });
      await hostedWorlds.delete(world);
    }
  }

  /** Starts the command again after each crash; the last process decides how the run ended. */
  async #runUntilEnd(watched: WatchedRun, env: CommandOptions['env']): Promise<Ending> {
    const { command, signal, rate = 1 } = this.#options;
    const timeoutMs = this.#options.timeoutMs + watched.waitMs / rate;
    for (;;) {
      let isCrashed = false;
      const onStart = (kill: () => void) => {
        watched.crash = () => {
          isCrashed = true;
          kill();
        };
      };
      const ending = await runChild({ command, env, timeoutMs, signal, onStart });
      if (!isCrashed) return ending;
    }
  }

  async close(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#simulator.close();
  }

  #environment(world: Simulator, intentsFile: string, stateFolder: string) {
    const { env, ownVariables, rate } = this.#options;
    const { apiKey, from } = credentialsOf(world.readyFile());
    const values: Readonly<Record<Variable, string>> = {
      base_url: world.baseUrl,
      api_key: apiKey,
      from,
      control_url: world.controlUrl,
    };
    const { SMSTWIN_RATE: ownRate, NODE_OPTIONS: ownOptions } = env;
    const reserved = {
      ...withoutProxy(env),
      SMSTWIN_BASE_URL: values.base_url,
      SMSTWIN_CONTROL_URL: values.control_url,
      SMSTWIN_API_KEY: values.api_key,
      SMSTWIN_FROM: values.from,
      SMSTWIN_INTENTS: intentsFile,
      SMSTWIN_STATE: stateFolder,
      // Tells the generated tests not to start an exploration inside this one.
      SMSTWIN_EXPLORE: '1',
      SMSTWIN_RATE: rate === undefined ? ownRate : String(rate),
      NODE_OPTIONS:
        rate === undefined ? ownOptions : `${ownOptions ?? ''} ${nodeOptionsOfClock()}`.trim(),
    } satisfies Record<(typeof setByEachRun)[number], string | undefined>;
    const own = ownVariables.map(({ name, value }) => [name, values[value]]);
    return { ...env, ...reserved, ...Object.fromEntries(own) };
  }
}

/** Keeps requests to the simulator from a proxy. Clients read one spelling or the other. */
export function withoutProxy(env: CommandOptions['env']): Record<'NO_PROXY' | 'no_proxy', string> {
  const given = [env['no_proxy'], env['NO_PROXY']].filter((list) => list);
  // Some clients know `*` only if it is alone.
  const list = given.includes('*') ? '*' : [...given, '127.0.0.1', 'localhost'].join(',');
  return { NO_PROXY: list, no_proxy: list };
}

/** The reports in an intents file, or a text that says what is wrong; undefined if there are none. */
function reportsOf(file: string): readonly ReportedIntent[] | string | undefined {
  if (!existsSync(file)) return undefined;
  const wrong = (why: string) => `the file that SMSTWIN_INTENTS names is wrong: ${why}`;
  let text: string;
  try {
    text = readText(file, mostFileBytes);
  } catch (error) {
    return wrong(reasonOf(error));
  }
  const { reports, mistakes } = reportsIn(text);
  if (mistakes.length > 0) return wrong(mistakes.join('; '));
  return reports.length === 0 ? undefined : reports;
}

/** The Node options that load `smstwin/clock`. In a checkout it is TypeScript, which needs `tsx`. */
export function nodeOptionsOfClock(): string {
  const isCheckout = import.meta.url.endsWith('.ts');
  const clock = isCheckout
    ? new URL('../src/testing/clock.ts', import.meta.url).href
    : pathToFileURL(shippedPath('clock.js')).href;
  const compiler = isCheckout ? `--import=${import.meta.resolve('tsx')} ` : '';
  return `${compiler}--import=${clock}`;
}
