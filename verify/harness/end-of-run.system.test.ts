/** What the harness with flags only sees when it reads all messages of a run at its end. */
import { expect, test } from 'vitest';
import { hourMs, isoTime, minuteMs } from '#contract/time.ts';
import { isRead } from '../defects/call.ts';
import { wrongSimulation } from '../defects/catalogue.ts';
import { describing } from '../defects/combinators.ts';
import { losingHoldsAfter } from '../defects/holds.ts';
import { answeringAfterPickup, externalNeverPickedUp, leavingSome } from '../defects/lifecycles.ts';
import { type Planted, WrongSimulation } from '../defects/planted.ts';
import { lockingRefusedIds } from '../defects/replays.ts';
import { type CaseResult, failures } from '../testkit/conform-run.ts';
import { type FlagsWorldPlan, runWithFlags, testRate } from './flags-world.ts';

function planting(planted: Planted): FlagsWorldPlan {
  return {
    rate: testRate / 2,
    simulation: (settings, startMs) => new WrongSimulation(settings, startMs, planted),
  };
}

function failed(results: readonly CaseResult[]): string[] {
  return failures(results).map(({ id }) => id);
}

test.concurrent('SEND-7 holds that are lost a minute later are seen at the end', async () => {
  const patterns = ['READ-1/held-message', 'LIMIT-4', 'SEND-7/every-message'];
  const { results, out } = await runWithFlags(patterns, planting(losingHoldsAfter(minuteMs)));
  expect(failed(results), out).toEqual(['SEND-7/every-message-of-the-run']);
});

test.concurrent('SVC-3 messages of the external send that stay queued are seen at the end', async () => {
  const patterns = ['VER-1/without-version', 'LIMIT-4', 'SEND', 'SVC-3'];
  const { results, out } = await runWithFlags(patterns, planting(externalNeverPickedUp));
  expect(failed(results), out).toEqual(['SVC-3/every-message-of-the-run']);
});

test.concurrent('RES reads of messages from the other sends are compared with what was sent', async () => {
  const wrong = describing(
    ({ to, created_at: created }) => ({
      to: `${String(to).slice(0, -1)}9`,
      device_id: '7b0f7f3e-2c44-4a7e-9a39-0d6f4a1f6a02',
      created_at: isoTime(Date.parse(String(created)) + hourMs),
    }),
    (call) => isRead(call) && call.message?.endpoint !== 'send',
  );
  const patterns = ['VER-1/without-version', 'every-body-of-the-run'];
  const { results, out } = await runWithFlags(patterns, planting(wrong));
  const rules = ['RES-2', 'RES-4', 'RES-6'];
  expect(failed(results), out).toEqual(rules.map((rule) => `${rule}/every-body-of-the-run`));
});

test.concurrent.each([
  // Another case uses up what the defect lets pass.
  ['ERR-1', 'quota-plus-one', 'SEND-4/refused-is-no-original'],
  ['AUTH-3', 'revoked-key-works-once', 'AUTH-6/revoked-key'],
] as const)(
  '%s a refusal that %s leaves out once is seen at the end',
  async (rule, name, first) => {
    const everyReply = `${rule}/every-body-of-the-run`;
    const plan = { rate: testRate / 2, simulation: wrongSimulation(name) };
    const { results, out } = await runWithFlags([first, everyReply], plan);
    expect(failed(results), out).toEqual([everyReply]);
  },
);

test.concurrent('SEND-4 a request_id that is not answered after its refusal is a failure', async () => {
  const patterns = ['SEND-4/refused-is-no-original', '--reply-timeout', '1s'];
  const { results, out } = await runWithFlags(patterns, planting(lockingRefusedIds));
  expect(failed(results), out).toEqual(['SEND-4/refused-is-no-original']);
  expect(out).toContain('actual none, 5 times (timed out)');
});

test.concurrent('SEND-7 a hold that ends minutes late is seen at the end, by later messages', async () => {
  const plan = { rate: testRate / 2, simulation: wrongSimulation('send-at-late') };
  const { results, out } = await runWithFlags([], plan);
  expect(failed(results), out).toContain('SEND-7/every-message-of-the-run');
});

test.concurrent('SEND-7 a hold that ends forty seconds late is passed by messages sent for that', async () => {
  const plan = { rate: testRate / 2, simulation: wrongSimulation('send-at-forty-seconds-late') };
  const patterns = ['SEND-3/any-text', 'SEND-7/holds-twelve-seconds'];
  const { results, out } = await runWithFlags(patterns, plan);
  expect(failed(results), out).toEqual(['SEND-7/holds-twelve-seconds']);
});

test.concurrent('SVC-3 one message in 13 that is never picked up is seen at the end', async () => {
  const { results, out } = await runWithFlags([], planting(leavingSome));
  expect(failed(results), out).toContain('SVC-3/every-message-of-the-run');
});

test.concurrent('SVC-2 sends that wait for the pickup are seen beside those of held messages', async () => {
  const { results, out } = await runWithFlags([], planting(answeringAfterPickup));
  expect(failed(results), out).toContain('SVC-2/every-body-of-the-run');
});
