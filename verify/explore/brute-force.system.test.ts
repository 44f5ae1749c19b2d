/**
 * Pruning loses no finding: the explorer finds the same as a run of every schedule of up to two
 * faults, at all points that any run reaches.
 */
import { expect, test } from 'vitest';
import type { FaultName, Point } from '#contract/fault-schedule.ts';
import type { RunClient } from '#explore/client-run.ts';
import { type Client, explore, type Schedule } from '#explore/explore.ts';
import { runInProcess } from '#explore/in-process-run.ts';
import { isProblem, learn } from '#explore/learn.ts';
import { faultKey, scheduleKey } from '#explore/schedule.ts';
import { kindOf, runOf } from '#explore/verdict.ts';
import { run } from './clients/patient.mjs';

const clients: Readonly<Record<string, Client>> = {
  'a right client': (tools) => run(tools, 'none', 1),
  'one that sends anew after a cut': (tools) => run(tools, 'new-id-after-cut', 1),
  'one that is impatient with a second 429': (tools) => run(tools, 'impatient-with-second-429', 1),
  'one that reads statistics too, and twice at most': async (tools) => {
    await run(tools, 'none', 1);
    const read = async () => {
      const reply = await tools.fetch(`${tools.baseUrl}/api/v1/account/stats/`, {
        headers: { authorization: `Bearer ${tools.apiKey}` },
        signal: AbortSignal.timeout(5_000),
      });
      if (!reply.ok) throw new Error(`${reply.status}`);
      await reply.json();
    };
    await read().catch(read);
  },
};
const faults: readonly FaultName[] = ['throttle', 'refuse', 'lost_response', 'truncate'];
/** No client reaches another point by two faults. */
const points: readonly Point[] = [
  ...[1, 2, 3].map((attempt) => ({ endpoint: 'send', intent: 1, attempt }) as const),
  ...[1, 2].map((attempt) => ({ endpoint: 'stats', intent: 1, attempt }) as const),
];

const timeout = 120_000;

test.each(Object.entries(clients))(
  '%s: the same findings as brute force',
  { timeout },
  async (_, client) => {
    const explored = await explore({ client, faults });
    const forced = await bruteForce(client);
    const found = new Set(explored.findings.map(({ cause, schedule }) => named(cause, schedule)));
    for (const one of found) expect(forced.has(one), one).toBe(true);
    const explained = explored.findings.flatMap(({ cause, schedule, also }) =>
      [schedule, ...also].map((one) => ({ cause, faults: one.map(faultKey) })),
    );
    for (const [name, { kind, schedule }] of forced) {
      // Where nothing changes, a lost reply equals a refused request: the explorer skips it.
      const faultKeys = schedule
        .map(faultKey)
        .map((key) => key.replace(/(stats.*)lost_response/, '$1refuse'));
      const isFound = explained.some(
        (one) =>
          kindOfCause(one.cause) === kind && one.faults.every((fault) => faultKeys.includes(fault)),
      );
      expect(isFound, name).toBe(true);
    }
  },
);

/** All schedules that fail, by name. */
async function bruteForce(client: Client) {
  const options = { client, settings: { seed: 1 }, slowMs: 3_000, timeoutMs: 600_000 };
  const runClient: RunClient = (...run) => runInProcess(options, ...run);
  const learned = await learn(runClient, { faults });
  if (isProblem(learned)) throw new Error(learned.line);
  const failing = new Map<string, { readonly kind: string; readonly schedule: Schedule }>();
  for (const schedule of allSchedules()) {
    const raw = await runClient(schedule, learned.knownIntents, learned.throttleWaits);
    const [failure] = runOf(raw, schedule, learned.expected, { mayFail: false }).failures;
    if (failure === undefined) continue;
    const kind = kindOf(failure);
    failing.set(named(kind, schedule), { kind, schedule });
  }
  return failing;
}

function allSchedules(): Schedule[] {
  const single = points.flatMap((at) =>
    faults
      .filter((fault) => fault !== 'throttle' || at.endpoint === 'send')
      .map((fault) => ({ at, fault })),
  );
  const pairs = single.flatMap((one, n) =>
    single.slice(n + 1).flatMap((other) => (one.at === other.at ? [] : [[one, other]])),
  );
  return [...single.map((one) => [one]), ...pairs];
}

function named(cause: string, schedule: Schedule): string {
  return `${kindOfCause(cause)}; ${scheduleKey(schedule)}`;
}

/** What the explorer calls CLIENT-5, a single run calls a second message. */
function kindOfCause(cause: string): string {
  return cause === 'CLIENT-5' ? 'sent_twice' : cause;
}
