/**
 * Runs clients in other languages, each against a world of its own on one server. The worlds of
 * Python clients have a manual clock, which the client's sleeps move; those of shell clients have a
 * clock that runs faster than real time.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SettingsInput } from '#src/config/settings.ts';
import { Simulator } from '#src/simulator.ts';
import type { ClientRow } from './client.ts';
import { conditionsFor, impose } from './conditions.ts';
import { type Seeds, seedsOf } from './matrix.ts';
import { messagesOf } from './node-run.ts';
import { type Run, runOf } from './trial.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** In real time. */
const longestDelayMs = { wrong: 400, right: 200 };
/** How many shell clients run at the same time; they mostly sleep. */
const shellsAtOnce = 24;
/** Wrong clients run in real time: what they do too early must stay early on a busy machine. */
const speeds = { right: { rate: 20 }, wrong: { rate: 1 } };

export interface ForeignRun {
  readonly client: ClientRow;
  readonly seed: number;
  readonly run: Run;
}

interface Job extends Pick<ForeignRun, 'client' | 'seed'> {
  readonly name: string;
  readonly base_url: string;
  readonly control_url: string;
  readonly key: string;
  readonly messages: ReturnType<typeof messagesOf>;
  readonly intents: string[];
  readonly simulator: Simulator;
}

export async function runPythonClients(
  clients: readonly ClientRow[],
  seeds: Seeds,
): Promise<ForeignRun[]> {
  return onServer({ clock: 'manual' }, clients, seeds, async (jobs) => {
    // The system's Python, for which the libraries are installed.
    const python = spawn('/usr/bin/python3', ['-B', file('python/harness.py')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => python.once('close', resolve));
    for (const [number, job] of jobs.entries()) {
      const { seed, name, base_url, control_url, key, messages } = job;
      const given = { seed, name, base_url, control_url, key, messages, number };
      python.stdin.write(`${JSON.stringify(given)}\n`);
    }
    python.stdin.end();
    let endedJobs = 0;
    for await (const text of createInterface({ input: python.stdout })) {
      const output = JSON.parse(text) as { readonly ended?: number; readonly line?: object };
      if (output.line !== undefined) jobs[endedJobs]?.intents.push(JSON.stringify(output.line));
      else endedJobs++;
    }
    await ended;
    if (endedJobs < jobs.length) throw new Error(`${jobs[endedJobs]?.name} did not end`);
  });
}

export async function runShellClients(
  clients: readonly ClientRow[],
  seeds: Seeds,
): Promise<ForeignRun[]> {
  const settings = { clock: 'scaled', ...speeds.right, retryAfterSeconds: 'real' } as const;
  return onServer(settings, clients, seeds, async (jobs) => {
    const queue = jobs.values();
    const work = async () => {
      for (const job of queue) await runShell(job);
    };
    await Promise.all(Array.from({ length: shellsAtOnce }, work));
  });
}

async function runShell({ name, base_url: baseUrl, key, messages, intents }: Job): Promise<void> {
  const shell = spawn('bash', [file('shell/clients.sh'), name], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, BASE_URL: baseUrl, KEY: key },
  });
  const ended = new Promise((resolve) => shell.once('close', resolve));
  const lines = messages.map(({ intent, to, from, message }) => [intent, to, from, message]);
  shell.stdin.end(lines.map((fields) => `${fields.join('\t')}\n`).join(''));
  for await (const line of createInterface({ input: shell.stdout })) intents.push(line);
  await ended;
}

async function onServer(
  settings: SettingsInput,
  clients: readonly ClientRow[],
  seeds: Seeds,
  work: (jobs: readonly Job[]) => Promise<void>,
): Promise<ForeignRun[]> {
  const server = new Simulator(settings, { journal: false });
  // Node's server answers HTTP/1.0 too.
  await server.listen({ control: {}, transport: 'node' });
  try {
    const jobs = clients.flatMap((client) =>
      seedsOf(client, seeds).map((seed) => newJob(server, client, seed)),
    );
    await work(jobs);
    return jobs.map(({ client, seed, simulator, intents }) => ({
      client,
      seed,
      run: runOf(simulator, intents),
    }));
  } finally {
    await server.close();
  }
}

function newJob(server: Simulator, client: ClientRow, seed: number): Job {
  const {
    world_id: worldId,
    base_url,
    control_url,
    accounts,
  } = server.worlds.create(
    client.rule !== undefined && server.settings.clock === 'scaled' ? speeds.wrong : {},
  );
  const simulator = server.hosting.get(worldId)?.simulator;
  if (simulator === undefined) throw new Error(`no world ${worldId}`);
  const conditions = conditionsFor(client, seed, longestDelayMs);
  impose(conditions, simulator);
  return {
    client,
    seed,
    name: client.name,
    base_url,
    control_url,
    key: accounts[0]?.api_key ?? '',
    messages: messagesOf(conditions),
    intents: [],
    simulator,
  };
}
