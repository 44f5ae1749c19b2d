/**
 * Runs a client against a simulated service, under conditions that the seed draws. A Node client
 * shares one clock with the service. Clients in other languages get a world each on one server: the
 * sleeps of Python clients move its manual clock; for shell clients its clock is faster than real
 * time.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { workOn } from '#io/event-loop.ts';
import type { RefereeReportJson } from '#src/operations/requests/referee.ts';
import { Simulator } from '#src/simulator.ts';
import type { ClientClock } from '#src/testing/client-clock.ts';
import { type ClientRow, type Job, type NodeClient, sleep } from './client.ts';
import { type Conditions, impose } from './conditions.ts';

export interface Run {
  readonly client: ClientRow;
  readonly seed: number;
  readonly journal: string;
  /** Lines of the intents file. */
  readonly intents: readonly string[];
  /** The report of the simulator itself. */
  readonly live: RefereeReportJson;
}

/** A run that has not ended. */
interface OpenRun extends Pick<Run, 'client' | 'seed'>, Conditions {
  readonly simulator: Pick<Simulator, 'journalText' | 'referee'>;
  readonly intents: string[];
  readonly baseUrl: string;
  readonly controlUrl?: string;
  readonly key: string;
}

/** The result of a run whose client has stopped. */
function ended({ client, seed, intents, simulator }: OpenRun): Run {
  const reports = intents.map((line) => JSON.parse(line));
  const live = simulator.referee({ intents: reports });
  return { client, seed, intents, journal: simulator.journalText(), live };
}

export async function runInNode(
  client: NodeClient,
  seed: number,
  simulator: Job['simulator'],
  clock: ClientClock,
): Promise<Run> {
  const conditions = impose(client, seed, 8_000, simulator);
  if (client.onSocket === true)
    await simulator.listen({ transport: client.onNodeServer === true ? 'node' : 'hyperexpress' });
  const { latencyMs, messages, rng } = conditions;
  const intents: string[] = [];
  const baseUrl = simulator.baseUrl || 'http://sms.example';
  const key = simulator.readyFile().accounts[0]?.api_key ?? '';
  await clock.until(() =>
    client.run({
      baseUrl,
      fetch: withLatency(simulator.fetch, () => rng.below(latencyMs)),
      key,
      messages,
      random: () => rng.fraction(),
      report: (message, request_id, reported) =>
        void intents.push(JSON.stringify({ ...message, request_id, reported })),
      simulator,
    }),
  );
  return ended({ ...conditions, client, seed, simulator, intents, baseUrl, key });
}

/** A `fetch` that delays each request and each reply. */
function withLatency(fetch: Job['fetch'], latencyMs: () => number): Job['fetch'] {
  return async (input, init) => {
    await sleep(latencyMs());
    const reply = await fetch(input, init);
    await sleep(latencyMs());
    return reply;
  };
}

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** How clients in other languages run: the settings of their server, and what plays the runs. */
const languages = {
  python: { settings: { clock: 'manual' }, playAll: playInPython },
  shell: {
    settings: { clock: 'scaled', rate: 20, retryAfterSeconds: 'real' },
    // Many at the same time, as they mostly sleep.
    playAll: (runs: readonly OpenRun[]) => workOn(runs.values(), 24, playInShell),
  },
} as const;

/** Runs clients in another language, each under its seeds. */
export async function runForeign(
  language: keyof typeof languages,
  clients: readonly ClientRow[],
  seeds: readonly number[],
): Promise<Run[]> {
  const { settings, playAll } = languages[language];
  const server = new Simulator(settings, { journal: false });
  // Node's server answers HTTP/1.0 too.
  await server.listen({ control: {}, transport: 'node' });
  try {
    const runs = clients.flatMap((client) => seeds.map((seed) => newWorld(server, client, seed)));
    await playAll(runs);
    return runs.map(ended);
  } finally {
    await server.close();
  }
}

function newWorld(server: Simulator, client: ClientRow, seed: number): OpenRun {
  // In real time, what a wrong client does too early stays early on a busy machine.
  const isSlow = client.rule !== undefined && server.settings.clock === 'scaled';
  const created = server.worlds.create(isSlow ? { rate: 1 } : {});
  const simulator = server.hostedWorlds.get(created.world_id)?.simulator;
  if (simulator === undefined) throw new Error(`no world ${created.world_id}`);
  return {
    ...impose(client, seed, 200, simulator),
    client,
    seed,
    simulator,
    intents: [],
    baseUrl: created.base_url,
    controlUrl: created.control_url,
    key: created.accounts[0]?.api_key ?? '',
  };
}

/** Plays all runs in one process, because the libraries take a second to load. */
async function playInPython(runs: readonly OpenRun[]): Promise<void> {
  // The system's Python, for which the libraries are installed.
  const python = spawn('/usr/bin/python3', ['-B', file('python/harness.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const jobs = runs.map(({ client: { name }, seed, baseUrl, controlUrl, key, messages }) =>
    JSON.stringify({ name, seed, base_url: baseUrl, control_url: controlUrl, key, messages }),
  );
  python.stdin.end(jobs.join('\n'));
  let endedRuns = 0;
  for await (const line of createInterface({ input: python.stdout })) {
    if (line === 'ended') endedRuns++;
    else runs[endedRuns]?.intents.push(line);
  }
  if (endedRuns < runs.length) throw new Error(`${runs[endedRuns]?.client.name} did not end`);
}

async function playInShell({ client, baseUrl, key, messages, intents }: OpenRun): Promise<void> {
  const shell = spawn('bash', [file('shell/clients.sh'), client.name], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, BASE_URL: baseUrl, KEY: key },
  });
  const closed = new Promise((resolve) => shell.once('close', resolve));
  const lines = messages.map(({ intent, to, from, message }) => [intent, to, from, message]);
  shell.stdin.end(lines.map((fields) => `${fields.join('\t')}\n`).join(''));
  for await (const line of createInterface({ input: shell.stdout })) intents.push(line);
  await closed;
}
