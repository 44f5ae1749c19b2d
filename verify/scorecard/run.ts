/**
 * Runs every configuration of a library under every fault, each pair in its own world, and reads
 * the verdicts of that world's referee. Client and service run at the same speed.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Report } from '../../src/referee/intents-file.ts';
import type { ClientVerdict } from '../../src/referee/judge.ts';
import { createSimulator, type Simulator } from '../../src/simulator.ts';
import type { Library } from './catalogue.ts';
import type { Service } from './clients/client.ts';
import { faults, messageCount, rate, shownRules } from './faults.ts';

export interface Task {
  readonly fault: string;
  readonly service: Service;
  readonly messages: readonly object[];
}

/** One configuration under one fault. */
export interface Score {
  readonly library: string;
  readonly configuration: string;
  readonly fault: string;
  /** How often the service accepted one of the three messages. */
  readonly accepted: number;
  /** The verdicts of those `shownRules` that were exercised. */
  readonly verdicts: Readonly<Record<string, ClientVerdict>>;
}

interface Run {
  readonly library: Library;
  readonly configuration: string;
}

/** Simultaneous processes: they mostly wait. */
const atOnce = 6;
const mostRuns = 8;
const pauseSeconds = 2;

export async function runAll(libraries: readonly Library[]): Promise<Score[]> {
  const simulator = await createSimulator({ clock: 'scaled', rate });
  try {
    await simulator.listen();
    const runs = libraries.flatMap((library) =>
      library.configurations.map((configuration) => ({ library, configuration })),
    );
    const scores: Score[] = [];
    for (let at = 0; at < runs.length; at += atOnce) {
      const some = runs.slice(at, at + atOnce).map((run) => agreedScores(run, simulator));
      scores.push(...(await Promise.all(some)).flat());
    }
    return scores;
  } finally {
    await simulator.close();
  }
}

/**
 * Scores on which two runs agree: on a busy machine a timeout may end a request that was answered
 * in time.
 */
async function agreedScores(run: Run, simulator: Simulator): Promise<Score[]> {
  const seen = new Set<string>();
  for (let runs = 0; runs < mostRuns; runs++) {
    const scores = await scoresOf(run, simulator);
    const text = JSON.stringify(scores);
    if (seen.has(text)) return scores;
    seen.add(text);
  }
  throw new Error(`${run.library.name}: no two of ${mostRuns} runs agree; is the machine busy?`);
}

async function scoresOf(run: Run, simulator: Simulator): Promise<Score[]> {
  const { library, configuration } = run;
  const worlds = Object.entries(faults).map(([fault, spec]) => {
    const { world_id: id } = simulator.worlds.create({});
    const world = simulator.hosting.get(id)?.simulator ?? simulator;
    world.faults.add(spec);
    return { id, world, task: taskOf(fault, configuration, world) };
  });
  const reports = await perform(
    run,
    worlds.map(({ task }) => task),
  );
  return worlds.map(({ id, world, task: { fault } }) => {
    const intents = reports.flatMap((one) => (one.fault === fault ? [one.report] : []));
    const score = { library: library.name, configuration, fault, ...judged(world, intents) };
    simulator.worlds.delete(id);
    return score;
  });
}

function taskOf(fault: string, configuration: string, world: Simulator): Task {
  const [account] = world.readyFile().accounts;
  const headers = {
    authorization: `Bearer ${account?.api_key}`,
    'content-type': 'application/json',
  };
  return {
    fault,
    service: { url: `${world.baseUrl}/api/v1/sms/send/`, headers },
    messages: messagesOf(configuration, account?.sims[0]?.number ?? ''),
  };
}

/** The program adds the `request_id`: none of the libraries does. */
function messagesOf(configuration: string, from: string): object[] {
  return Array.from({ length: messageCount }, (_, at) => ({
    to: '+12025550123',
    from,
    message: `Order ${at + 1} is on its way`,
    ...(configuration === 'recommended' && { request_id: `order-${at + 1}` }),
  }));
}

interface Reported {
  readonly fault: string;
  readonly report: Report;
}

async function perform(run: Run, tasks: readonly Task[]): Promise<Reported[]> {
  const [command = '', ...argv] = commandOf(run);
  const child = spawn(command, argv, {
    env: { ...process.env, SMSTWIN_RATE: String(rate) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify({ tasks, pauseSeconds }));
  const output = await text(child.stdout);
  const reports = output.trim().split('\n').filter(Boolean).map(reportOf);
  if (reports.length === tasks.length * messageCount) return reports;
  throw new Error(`${argv.join(' ')}: ended after ${reports.length} messages`);
}

function reportOf(line: string): Reported {
  const { fault, ...report } = JSON.parse(line) as Report & { readonly fault: string };
  return { fault, report: { ...report, intent: report.message } };
}

function commandOf({ library: { file, language }, configuration }: Run): string[] {
  const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const [name = ''] = file.split('.');
  const isDefault = configuration === 'default';
  if (language === 'Node') {
    const preloads = ['--import', 'tsx', '--import', path('../../src/testing/clock.ts')];
    const called = isDefault ? 'byDefault' : configuration;
    return [process.execPath, ...preloads, path('program.ts'), name, called];
  }
  // Debian's Python, which has Debian's packages.
  const python = ['/usr/bin/python3', path('program.py'), name];
  return ['faketime', '-f', `+0 x${rate}`, ...python, isDefault ? 'by_default' : configuration];
}

function judged(world: Simulator, intents: Report[]): Pick<Score, 'accepted' | 'verdicts'> {
  const { rules, details } = world.referee({ intents, details: true });
  const exercised = rules.filter(
    ({ id, verdict }) => shownRules.has(id) && verdict !== 'not_exercised',
  );
  return {
    accepted: details?.exchanges.filter(({ status }) => status === 202).length ?? 0,
    verdicts: Object.fromEntries(exercised.map(({ id, verdict }) => [id, verdict])),
  };
}
