/**
 * The explorer in this process, against clients with planted bugs and against one without: each bug
 * is found at its depth, with the smallest schedule that shows it.
 */
import { describe, expect, test } from 'vitest';
import { faultNames } from '#contract/fault-schedule.ts';
import { explore, type FaultName, type Schedule } from '#explore/explore.ts';
import { sample } from '../testkit/runs.ts';
import { bugs, run } from './clients/patient.mjs';

/** A bug of `clients/patient.mjs`, with the smallest schedule that shows it. */
interface Planted {
  readonly bug: string;
  readonly cause: string;
  /** The number of messages that the client sends. */
  readonly messages: number;
  /** `fault intent.attempt`. */
  readonly schedule: readonly `${FaultName} ${number}.${number}`[];
}

const planted: readonly Planted[] = [
  {
    bug: 'reset-taken-for-success',
    cause: 'not_accepted',
    messages: 2,
    schedule: ['reset 1.1'],
  },
  { bug: 'new-id-after-cut', cause: 'CLIENT-5', messages: 2, schedule: ['truncate 1.1'] },
  { bug: 'no-timeout', cause: 'timeout', messages: 2, schedule: ['lost_request 1.1'] },
  {
    bug: 'timeout-taken-for-success',
    cause: 'not_accepted',
    messages: 2,
    schedule: ['lost_request 1.1'],
  },
  { bug: 'fixed-wait-of-1.1-s', cause: 'CLIENT-1', messages: 2, schedule: ['throttle 1.1'] },
  { bug: 'fixed-wait-of-5-s', cause: 'CLIENT-1', messages: 2, schedule: ['throttle 1.1'] },
  { bug: 'fixed-wait-of-20-s', cause: 'CLIENT-1', messages: 2, schedule: ['throttle 1.1'] },
  {
    bug: 'new-id-after-third-close',
    cause: 'CLIENT-5',
    messages: 1,
    schedule: ['refuse 1.1', 'refuse 1.2', 'lost_response 1.3'],
  },
  {
    bug: 'new-id-after-garbled-and-cut',
    cause: 'CLIENT-5',
    messages: 2,
    schedule: ['malformed 1.1', 'truncate 1.2'],
  },
  {
    bug: 'no-retry-after-503-of-last',
    cause: 'not_accepted',
    messages: 2,
    schedule: ['unavailable 1.1', 'throttle 2.1'],
  },
  {
    bug: 'timeout-after-429-taken-for-success',
    cause: 'CLIENT-9',
    messages: 2,
    schedule: ['throttle 1.1', 'hang 1.2'],
  },
  {
    bug: 'id-of-last-after-reset-and-503',
    cause: 'not_accepted',
    messages: 2,
    schedule: ['reset 1.1', 'unavailable 2.1'],
  },
  {
    bug: 'impatient-with-second-429',
    cause: 'CLIENT-1',
    messages: 2,
    schedule: ['throttle 1.1', 'throttle 1.2'],
  },
  {
    bug: 'gives-up-after-429-503-garbled',
    cause: 'CLIENT-9',
    messages: 1,
    schedule: ['throttle 1.1', 'unavailable 1.2', 'malformed 1.3'],
  },
];

const patient = (bug: string, messages: number) => (tools: Parameters<typeof run>[0]) =>
  run(tools, bug, messages);

/** `reset 1.2`: at the second attempt at the first message. */
function scheduleOf(texts: readonly string[]): Schedule {
  return texts.map((one) => {
    const [name, place = ''] = one.split(' ');
    const fault = faultNames.find((each) => each === name) ?? 'hang';
    const [intent = 0, attempt = 0] = place.split('.').map(Number);
    return { at: { endpoint: 'send', intent, attempt }, fault };
  });
}

test('every bug that can be planted is looked for', () => {
  const names = planted.map(({ bug }) => bug);
  expect(['none', ...names].sort()).toEqual(Object.keys(bugs).sort());
});

// The first, and one that takes three faults: two are in `clients.system.test.ts`. `SMSTWIN_RUNS=7`
// tries all of them.
describe.each(sample(planted, 2))('$bug', ({ bug, cause, messages, schedule: texts }) => {
  const schedule = scheduleOf(texts);
  const depth = schedule.length;
  /** Those that the bug needs and three others: with all there are many pairs. */
  const faults = faultNames.filter(
    (name: FaultName) =>
      ['throttle', 'refuse', 'lost_response'].includes(name) ||
      schedule.some(({ fault }) => fault === name),
  );

  test('is found at its depth, with as many faults as it needs', async () => {
    const found = await explore({ client: patient(bug, messages), depth, faults });
    expect(found.exitCode).toBe(1);
    expect(found.unstable).toEqual([]);
    expect(found.findings.find((one) => one.cause === cause)?.schedule).toEqual(schedule);
    for (const finding of found.findings) expect(finding.schedule).toHaveLength(depth);
  });

  test('fails under its schedule again, where the mended client passes', async () => {
    const again = await explore({ client: patient(bug, messages), schedule });
    expect(again.findings.map((one) => one.cause)).toEqual([cause]);
    const mended = await explore({ client: patient('none', messages), schedule });
    expect(mended.exitCode).toBe(0);
  });
});

test('a right client of two intents is exhausted to depth 2', async () => {
  const sound = await explore({ client: patient('none', 2) });
  expect(sound).toMatchObject({ exitCode: 0, findings: [], unstable: [] });
  expect(sound.explored).toBe(
    'explored 24 of 24 single faults and 408 of 408 pairs: exhaustive to depth 2',
  );
});
