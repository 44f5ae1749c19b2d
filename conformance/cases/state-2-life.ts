/**
 * A message's statuses, read while time passes. Rules: STATE-2 to STATE-5, RES-5. Assumes nothing
 * about the pace except what the target states (`pollIntervalSeconds`, `failsFrom`, `failureRate`).
 */
import { about, type Case } from '../case.ts';
import { byLives, describeLife, ofLives } from '../judge-lives.ts';
import { pollIntervalMs, type RecordedLife } from '../recorded-lives.ts';
import { recipients } from '../target.ts';
import { tasksOf, untilHandedOut } from '../tasks.ts';
import type { Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const order = ['queued', 'sending', 'sent', 'delivered'];
const final = ['delivered', 'failed'];

/** Each step of each message, as from and to. */
function steps(lives: readonly RecordedLife[]): { from: string; to: string; of: RecordedLife }[] {
  return lives.flatMap((of) =>
    of.sightings.slice(1).map(({ status }, i) => ({
      from: of.sightings[i]?.status ?? '',
      to: status,
      of,
    })),
  );
}

export async function statusOf(t: Trial, key: string, messageId: string): Promise<string> {
  const reply = await t.read({ key, from: '', sims: [] }, messageId);
  return String(verify.message(reply, 200)['status']);
}

/** The shortest time that a state may last if its length is unknown. */
const briefestMs = 1_000;

/** Reports a skipped state, unless the reads may have missed it. */
function skippedAState(t: Trial, lives: readonly RecordedLife[], step: string, of: RecordedLife) {
  // Measured from change to change, because the first state may end at any time.
  const lasted = lives.flatMap(({ sightings }) =>
    sightings.slice(2).map(({ at }, i) => at - (sightings[i + 1]?.at ?? 0)),
  );
  const blind = Math.max(...of.sightings.map(({ within }) => within));
  if (!t.controlled && (lasted.length > 0 ? Math.min(...lasted) : briefestMs) < 3 * blind)
    t.lack('a target whose messages stay in each state for a few seconds');
  t.fail(step, describeLife(of));
}

const dayMs = 86_400_000;

/**
 * Waits for a message's final status, then reads it for five polls, after a day and after a month.
 */
async function endsForGood(t: Trial, recipient: string, end: string): Promise<void> {
  const account = await t.account();
  const { messageId } = await t.queued(account, { to: recipient });
  const interval = pollIntervalMs(t);
  const read = () => statusOf(t, account.key, messageId);
  // Between polls, steps may take some seconds (`progressPace`).
  for (let i = 0; i < 10 && (await read()) !== end; i += 1)
    await t.advance(Math.max(interval, 5_000));
  if ((await read()) !== end) return;
  const keptDays = t.assumption('messageRetention');
  let leftMs = typeof keptDays === 'number' ? keptDays * dayMs : Number.POSITIVE_INFINITY;
  for (const pause of [...Array(10).fill(interval / 2), dayMs, 30 * dayMs]) {
    leftMs -= pause;
    if (leftMs <= 0) break;
    await t.advance(pause);
    verify.equal('status', await read(), end);
  }
  t.count();
}

function staysAtItsEnd(t: Trial, lives: readonly RecordedLife[]): void {
  for (const of of lives) {
    const end = of.sightings.findIndex(({ status }) => final.includes(status));
    if (end < 0) continue;
    verify.that(end === of.sightings.length - 1, 'nothing after the final state', describeLife(of));
    t.count();
  }
}

/** Says why no failure can be seen, if the target's settings explain it. */
function lackOfFailures(t: Trial): void {
  const failsFrom = t.assumption('failsFrom');
  if (Array.isArray(failsFrom) && failsFrom.length === 0)
    t.lack('a target on which a message may fail (failsFrom is empty)');
}

const ofAFailure = 'a recipient whose messages fail, among those of --allow-to';
const ofSteps = 'a message that is seen to proceed before it fails';
const ofAnEnd = 'a message that ends within the wait';

export const state2LifeCases: readonly Case[] = [
  ofLives(
    'STATE-2/queued-becomes-sending',
    'the first change of a message that does not fail is from queued to sending',
    (t, lives) => {
      for (const { from, to, of } of steps(lives)) {
        if (from !== 'queued' || to === 'failed') continue;
        if (to !== 'sending') skippedAState(t, lives, 'queued followed by sending', of);
        t.count();
      }
    },
    ofSteps,
  ),
  {
    ...about('STATE-2/pickup-by-a-polling-device', ['fresh', 'clock'], { sends: 1 }),
    alone: true,
    sends: 'a message from a SIM that does not poll by itself; then its device asks for tasks',
    demands: 'queued until the device polls, sending from then on',
    run: async (t) => {
      const account = await t.account({ sim: { polling: 'external' } });
      const { messageId } = await t.queued(account);
      await t.advance(3 * pollIntervalMs(t));
      const waiting = await statusOf(t, account.key, messageId);
      verify.given(() => verify.equal('status without a poll', waiting, 'queued'));
      const poll = await tasksOf(t, account);
      verify.given(() => verify.status(poll, 200));
      const handed = poll.text.includes(messageId);
      verify.given(() => verify.that(handed, 'the message among the tasks', poll));
      verify.equal('status', await statusOf(t, account.key, messageId), 'sending');
      t.count();
    },
    live: {
      needs: ['sender', 'device'],
      cost: { sends: 1 },
      spends: { send: 1, tasks: 1 },
      run: (t) =>
        untilHandedOut(t, async (account, message) => {
          const { messageId } = await t.queued(account, { message });
          const tasks = await tasksOf(t, account);
          if (!tasks.text.includes(message)) return messageId;
          const status = await statusOf(t, account.key, messageId);
          verify.that(status !== 'queued', 'another status than queued once handed out', status);
          return undefined;
        }),
    },
  },
  ofLives(
    'STATE-3/in-order',
    'queued, sending, sent, delivered: no state is skipped or repeated',
    (t, lives) => {
      for (const { from, to, of } of steps(lives)) {
        if (to === 'failed') continue;
        const next = order[order.indexOf(from) + 1];
        const step = `${from} followed by ${next ?? 'nothing'} or failed`;
        verify.that(order.indexOf(to) > order.indexOf(from), step, describeLife(of));
        if (to !== next) skippedAState(t, lives, step, of);
        if (from !== 'queued') t.count();
      }
    },
    ofSteps,
  ),
  ofLives(
    'STATE-3/reaches-delivered',
    'a message that does not fail ends as delivered',
    (t, lives) => {
      const delivered: string[] = [recipients.delivered, t.recipient];
      for (const of of lives.filter(({ recipient }) => delivered.includes(recipient))) {
        const end = of.sightings.at(-1)?.status;
        if (end === 'failed') continue;
        if (end !== 'delivered' && !t.controlled) t.lack(ofAnEnd);
        verify.that(end === 'delivered', 'delivered within seven polls', describeLife(of));
        t.count();
      }
    },
    'a message that does not fail',
  ),
  ofLives(
    'STATE-4/fails-from-an-unfinished-state',
    'failed only ever follows queued, sending or sent',
    (t, lives) => {
      lackOfFailures(t);
      for (const { from, to, of } of steps(lives)) {
        if (to !== 'failed') continue;
        const isUnfinished = order.slice(0, 3).includes(from);
        verify.that(isUnfinished, 'failed after an unfinished state', describeLife(of));
        t.count();
      }
      if (t.exercised === 0 && t.target.allowTo !== undefined) t.lack(ofAFailure);
    },
    ofAFailure,
  ),
  {
    ...about('STATE-5/delivered-is-final', ['fresh', 'clock'], { sends: 1 }),
    alone: true,
    sends: 'a message, read until it has ended, for five polls more, a day and a month later',
    demands: 'delivered for ever',
    run: (t) => endsForGood(t, t.recipient, 'delivered'),
    live: byLives(staysAtItsEnd, ofAnEnd),
  },
  {
    ...about('STATE-5/failed-is-final', ['fresh', 'clock'], { sends: 3 }),
    alone: true,
    sends: 'messages that fail, read for five polls more, a day and a month later',
    demands: 'failed for ever',
    run: async (t) => {
      lackOfFailures(t);
      const { failsQueued, failsSending, failsSent } = recipients;
      for (const recipient of [failsQueued, failsSending, failsSent])
        await endsForGood(t, recipient, 'failed');
    },
  },
  ofLives(
    'STATE-5/nothing-follows-an-end',
    'no change after delivered or failed',
    staysAtItsEnd,
    ofAnEnd,
  ),
  ofLives('RES-5/all-its-life', 'only the five states are ever shown', (t, lives) => {
    for (const of of lives)
      for (const { status } of of.sightings) {
        const isAState = [...order, 'failed'].includes(status);
        verify.that(isAState, 'one of the five states', describeLife(of));
        t.count();
      }
  }),
];
