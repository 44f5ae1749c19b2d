/**
 * Compares the explorer with random schedules of two faults, with equal numbers of runs, on the
 * planted bugs of depth 2: `npm run explore:random -- --seeds 40`. Prints the table of
 * docs/explore.md. Runs are deterministic, so each schedule of a client is run once and its result
 * reused.
 */
import { parseArgs } from 'node:util';
import { type FaultName, faultNames, isCrash } from '../../src/explore/fault-names.ts';
import { runInProcess } from '../../src/explore/in-process-run.ts';
import { isProblem, learn } from '../../src/explore/learn.ts';
import { type RunClient, runOf } from '../../src/explore/run.ts';
import { type Schedule, scheduleKey } from '../../src/explore/schedule.ts';
import { search } from '../../src/explore/search.ts';
import { Rng } from '../../src/sim/rng.ts';
import { run } from './clients/patient.mjs';
import { planted } from './planted.ts';

const budgets = [60, 120, 250];
const attempts = 3;

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '40' } } });
const seeds = Number(values.seeds);

const sums = budgets.map(() => ({ explorer: 0, random: 0 }));
const rows: string[] = [];
for (const { bug, messages } of planted.filter(({ schedule }) => schedule.length === 2)) {
  const runClient = remembering(bug, messages);
  const cells: string[] = [];
  for (const [at, budget] of budgets.entries()) {
    let [explorer, random] = [0, 0];
    for (let seed = 1; seed <= seeds; seed++) {
      if (await explorerFinds(runClient, budget, seed)) explorer++;
      if (await randomFinds(runClient, messages, budget, seed)) random++;
    }
    cells.push(`${percent(explorer)} · ${percent(random)}`);
    const sum = sums[at];
    if (sum !== undefined) {
      sum.explorer += explorer;
      sum.random += random;
    }
  }
  rows.push(`| \`${bug}\` | ${cells.join(' | ')} |`);
}
const ratios = sums.map(({ explorer, random }) => `**${(explorer / random).toFixed(1)} times**`);
process.stdout.write(
  [
    `| planted bug | ${budgets.map((budget) => `${budget} runs`).join(' | ')} |`,
    `|---|${budgets.map(() => '---').join('|')}|`,
    ...rows,
    `| the explorer finds as often | ${ratios.join(' | ')} |`,
    '',
  ].join('\n'),
);

const faults = faultNames.filter((name) => !isCrash(name));

function remembering(bug: string, messages: number): RunClient {
  const options = {
    client: (tools: Parameters<typeof run>[0]) => run(tools, bug, messages),
    settings: { seed: 1 },
    slowMs: 3_000,
    timeoutMs: 600_000,
  };
  const known = new Map<string, ReturnType<RunClient>>();
  return (schedule, intents, throttleWaits) => {
    const key = `${scheduleKey(schedule)} ${throttleWaits.join()}`;
    const former = known.get(key) ?? runInProcess(options, schedule, intents, throttleWaits);
    known.set(key, former);
    return former;
  };
}

async function explorerFinds(runClient: RunClient, maxRuns: number, seed: number) {
  const { findings, unconfirmed } = await search({
    ...{ runClient, maxRuns, seed, faults, depth: 2, jobs: 1 },
    ...{ bail: true, mayFail: false },
  });
  return findings.length + unconfirmed.length > 0;
}

/** Three runs learn the client's calls; each further run has two faults at random points. */
async function randomFinds(runClient: RunClient, messages: number, budget: number, seed: number) {
  const learned = await learn(runClient, { faults });
  if (isProblem(learned)) throw new Error(learned.line);
  const rng = Rng.stream(seed, 'random schedules');
  for (let runs = 3; runs < budget; runs++) {
    const schedule = randomSchedule(rng, messages);
    const raw = await runClient(schedule, learned.known, learned.throttleWaits);
    if (runOf(raw, schedule, learned.expected, false).failures.length > 0) return true;
  }
  return false;
}

function randomSchedule(rng: Rng, messages: number): Schedule {
  const places = messages * attempts;
  const first = rng.below(places);
  const second = (first + 1 + rng.below(places - 1)) % places;
  return [first, second].map((place) => ({
    at: {
      endpoint: 'send',
      intent: 1 + Math.floor(place / attempts),
      attempt: 1 + (place % attempts),
    },
    fault: faults[rng.below(faults.length)] as FaultName,
  }));
}

function percent(count: number): string {
  return `${Math.round((100 * count) / seeds)} %`;
}
