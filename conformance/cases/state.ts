/**
 * A message's statuses, read while time passes. Rules: STATE-2 to STATE-5, RES-5, SVC-2, SVC-3.
 * Nearly all cases judge the same few messages. Nothing is assumed about the pace except what the
 * target states (`pollIntervalSeconds`, `failsFrom`, `failureRate`).
 */

import type { RuleId } from '../../src/ledger/rules.ts';
import { dayMs } from '../../src/ledger/time-units.ts';
import { about, type Case } from '../case.ts';
import { pollIntervalMs } from '../judges/status.ts';
import { recipients } from '../target.ts';
import { untilHandedOut, untilReported } from '../tasks.ts';
import { paths, type Trial } from '../trial.ts';
import { textOf } from '../verify.ts';
import { queuedToWatch, watch, watched } from '../watched-messages.ts';
import { nearlyThisId } from './read.ts';

function ofWatched(id: `${RuleId}/${string}`, demands: string): Case {
  return {
    ...about(id, ['sender']),
    recordings: [watched],
    sends: 'messages, with a control port of every fate, read until after their end',
    demands,
  };
}

/** Reads messages of these recipients until they have ended, after a day and after a month. */
async function longAfterTheEnd(t: Trial, all: readonly string[]): Promise<void> {
  const messages = [];
  for (const to of all) messages.push(await queuedToWatch(t, await t.account(), { to }));
  await watch(t, messages, { forMs: 8 * pollIntervalMs(t) + 45_000, afterEndMs: 1 });
  for (const pause of [5 * pollIntervalMs(t), dayMs, 30 * dayMs]) {
    await t.advance(pause);
    for (const { account, messageId } of messages) await t.read(account, messageId);
  }
}

const order = ['queued', 'sending', 'sent', 'delivered', 'failed'];
const roundsAfterTheEnd = 4;
/** Pauses in real time: short at first; 98 s in all, nearly five polls of 20 s. */
const realPausesMs = [...Array(20).fill(400), ...Array(50).fill(1_800)];
const readsPerPoll = 5;
const mostPolls = 9;

/** Ends each pause at the next deadline, so that reads directly follow a change. */
async function* pauses(t: Trial): AsyncGenerator<void> {
  if (!t.controlled) {
    for (const ms of realPausesMs) yield await t.advance(ms);
    return;
  }
  const step = Math.floor(pollIntervalMs(t) / readsPerPoll);
  const end = (await t.now()) + mostPolls * pollIntervalMs(t);
  for (let now = await t.now(); now < end; now = await t.now()) {
    const due = (await t.control.nextAt()) ?? now;
    yield await t.advance(due > now ? Math.min(step, due - now) : step);
  }
}

export const stateCases: readonly Case[] = [
  ofWatched(
    'STATE-2/queued-becomes-sending',
    'the first change of a message that does not fail is from queued to sending',
  ),
  {
    ...about('STATE-2/pickup-by-a-polling-device', ['sender', 'device'], { send: 1, tasks: 2 }),
    alone: true,
    sends: 'a long message with an emoji from a SIM whose device asks for its tasks, twice',
    demands: 'queued until the device polls, and sending at once or within 20 s (taskPickup)',
    steps: async (t) => {
      const handedOut = await untilHandedOut(t, async (account, message) => {
        const long = `${message} \u{1f44b} ${'conformance '.repeat(30)}`.trimEnd();
        const { messageId } = await t.queued(account, { message: long });
        if (t.controlled) await t.advance(3 * pollIntervalMs(t));
        await t.read(account, messageId);
      });
      const [sim] = handedOut.account.sims;
      await t.get(paths.tasks(sim?.deviceId ?? ''), handedOut.account.key);
      await untilReported(t, handedOut);
    },
  },
  {
    ...about('STATE-2/tasks-of-another-account', ['sender', 'device', 'second-account']),
    spends: { send: 1, tasks: 1 },
    sends: "polls for the device with another account's key, then with its own",
    demands: 'its own key gets the task; that another one gets it too breaks no rule, but is said',
    steps: async (t) => {
      const { key } = await t.otherAccount();
      const handedOut = await untilHandedOut(t, async (account, message) => {
        await t.queued(account, { message });
        await t.get(paths.tasks(account.sims[0]?.deviceId ?? ''), key);
      });
      await untilReported(t, handedOut);
    },
  },
  {
    ...about('STATE-2/only-its-own-device-picks-up', ['sender', 'device'], { send: 1, tasks: 4 }),
    sends: "polls for the account's other device and for ids nearly those of the message's device",
    demands: 'not handed out until its own device polls',
    steps: async (t) => {
      const handedOut = await untilHandedOut(t, async (account, message) => {
        const [own = '', other = own] = account.sims.map(({ deviceId }) => deviceId);
        await t.queued(account, { message });
        const near = nearlyThisId(own);
        for (const id of t.controlled ? [other, ...near] : near.slice(2, 5))
          await t.get(paths.tasks(id), account.key);
      });
      await untilReported(t, handedOut);
    },
  },
  {
    ...ofWatched('STATE-2/real-time-pickup', 'it stays queued until it is sending (or fails)'),
    sends: 'a message, read until it is picked up',
  },
  ofWatched(
    'STATE-3/in-order',
    'queued, sending, sent, delivered: no state is skipped or repeated',
  ),
  ofWatched('STATE-3/reaches-delivered', 'a message that does not fail ends as delivered'),
  {
    ...about('STATE-3/never-backwards', ['sender'], { send: 4 }, { waits: 3 }),
    sends: 'reads of a message with two keys, each twice in a row, and a replay at each new status',
    demands: 'no read shows an older status than an earlier read',
    steps: async (t, account) => {
      const fields = { request_id: t.requestId() };
      const { messageId } = await t.queued(account, fields);
      const hasOther = t.controlled || t.target.flags.otherApiKey !== undefined;
      const other = hasOther ? (await t.secondKey(account)).key : account.key;
      let latest = 0;
      const readAll = async () => {
        for (const key of [account.key, other, account.key, other]) {
          const { json } = await t.get(paths.read(messageId), key);
          latest = Math.max(latest, order.indexOf(textOf(Object(json).status)));
        }
      };
      let roundsLeft = roundsAfterTheEnd;
      for await (const _ of pauses(t)) {
        const before = latest;
        await readAll();
        if (latest > before) {
          await t.send(account, fields);
          await readAll();
        }
        if (latest >= order.indexOf('delivered') && --roundsLeft === 0) break;
      }
    },
  },
  ofWatched(
    'STATE-4/fails-from-an-unfinished-state',
    'failed only ever follows queued, sending or sent',
  ),
  {
    ...ofWatched('STATE-5/delivered-is-final', 'delivered for ever'),
    sends: 'a message, read until it has ended and longer, with a control port a month later',
    steps: async (t) => {
      if (t.controlled) await longAfterTheEnd(t, [t.recipient]);
    },
  },
  {
    ...about('STATE-5/failed-is-final', ['fresh', 'clock'], { send: 3 }),
    sends: 'messages that fail, read for five polls more, a day and a month later',
    demands: 'failed for ever',
    steps: (t) =>
      longAfterTheEnd(t, [recipients.failsQueued, recipients.failsSending, recipients.failsSent]),
  },
  ofWatched('STATE-5/nothing-follows-an-end', 'no change after delivered or failed'),
  ofWatched('RES-5/all-its-life', 'only the five states are ever shown'),
  ofWatched('SVC-2/sent-later', 'the reply came while the message was queued; sending came later'),
  {
    ...ofWatched('SVC-3/picked-up-within-a-poll', 'both are picked up within about 20 s'),
    sends: 'a message; when it is picked up, another one from the same SIM',
  },
  ofWatched('SVC-3/no-faster-than-polls', 'at least about 20 s between two changes of a status'),
];
