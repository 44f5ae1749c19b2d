/**
 * Cases about the statuses of a message, read while time passes. Rules: STATE-2 to STATE-5, RES-5,
 * SVC-2, SVC-3. Nearly all of them judge the messages that the run watches once
 * (`conformance/steps/watched-messages.ts`). They assume no pace except the one that the target
 * states (`pollIntervalSeconds`, `failsFrom`, `failureRate`).
 */
import { type Status, statuses } from '#contract/message-status.ts';
import type { RuleId } from '#contract/rules.ts';
import { dayMs } from '#contract/time.ts';
import {
  type Exchange,
  isAccepted,
  isMessageSend,
  messageIdOf,
} from '#judging/evidence/exchange.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { textOf } from '#judging/service/expectations.ts';
import { finalStatuses, historiesIn } from '#judging/service/histories.ts';
import { pollIntervalMs } from '#judging/service/pace.ts';
import { about, type Case, judging, type RequiredEvidence } from '../run/case.ts';
import { type AccountUnderTest, paths, type Trial } from '../run/trial.ts';
import { readUntilReported, sendUntilHandedOut } from '../steps/tasks.ts';
import { sendToWatch, watch } from '../steps/watch.ts';
import { statusEvidence, watched } from '../steps/watched-messages.ts';
import { recipients } from '../target/target.ts';
import { similarIdsOf, sinceLastBreak } from './read.ts';

/** A case that judges the watched messages. */
function watchedCase(
  id: `${RuleId}/${string}`,
  demands: string,
  evidence?: RequiredEvidence,
): Case {
  return judging(id, watched, {
    sends: 'messages, with a control port of every fate, read until after their end',
    demands,
    ...(evidence !== undefined && { evidence }),
  });
}

/** Reads messages to these recipients until they have ended, after a day and after a month. */
async function readLongAfter(t: Trial, numbers: readonly string[]): Promise<void> {
  const messages = [];
  for (const to of numbers) messages.push(await sendToWatch(t, await t.account(), { to }));
  await watch(t, messages, { forMs: 8 * pollIntervalMs(t) + 45_000, afterEndMs: 1 });
  for (const pause of [5 * pollIntervalMs(t), dayMs, 30 * dayMs]) {
    await t.advance(pause);
    for (const { account, messageId } of messages) await t.read(account, messageId);
  }
}

/** The most messages that are read once more at the end of a run. */
const mostReadAgain = 30;

/** Reads messages that have ended. Judges that read and the first one that showed the end. */
async function readEndedOfTheRun(t: Trial): Promise<void> {
  const ended = historiesIn({ exchanges: sinceLastBreak(t) }).flatMap((history) => {
    const end = history.sightings.find(({ status }) => finalStatuses.includes(status));
    return end === undefined ? [] : [{ ...history, end: end.exchange }];
  });
  if (ended.length === 0) t.lack('other cases that see a message end');
  for (const { start, end, messageId } of ended.slice(0, mostReadAgain)) {
    t.exchanges.push(start, end);
    const { authorization = '' } = end.headers;
    await t.request({ method: 'GET', path: paths.read(messageId), headers: { authorization } });
  }
}

const finalRank = statuses.indexOf('delivered');

/** The most messages of other cases that `STATE-3/never-backwards` reads at a time. */
const mostOthers = 8;

/**
 * Reads messages of other cases up to their end, the latest ones first. Messages for which there is
 * no place are left out, because they are older.
 */
function readsOfOthers(t: Trial, { key }: AccountUnderTest): () => Promise<unknown> {
  const seen = new Set<Exchange>();
  let open: string[] = [];
  return async () => {
    const sends = t.hasControl ? [] : t.target.log.filter(isImmediateOfOwn);
    for (const send of sends.reverse().filter((one) => !seen.has(one))) {
      seen.add(send);
      if (open.length >= mostOthers || t.exchanges.includes(send)) continue;
      open.push(messageIdOf(send));
      t.exchanges.push(send);
    }
    const replies = await Promise.all(open.map((id) => t.get(paths.read(id), key)));
    open = open.filter((_, index) => rankOf(replies[index]) < finalRank);
  };
}

function isImmediateOfOwn(send: Exchange): boolean {
  const isOwn = send.caller.account === 'own' && isMessageSend(send);
  return isOwn && isAccepted(send) && send.fields?.['send_at'] === undefined;
}

/** How many rounds of reads `STATE-3/never-backwards` adds once the message is final. */
const roundsAfterTheEnd = 4;
/** Pauses in real time: short at first; 98 s in all, nearly five polls of 20 s. */
const realPausesMs = [...Array<number>(20).fill(400), ...Array<number>(50).fill(1_800)];
/** With a control port: the reads in each poll interval, and the intervals to read for. */
const readsPerPoll = 5;
const mostPolls = 9;

/** Pauses between reads. With a control port, each ends at a deadline, so reads follow a change. */
async function* takePauses(t: Trial): AsyncGenerator<void> {
  if (!t.hasControl) {
    for (const ms of realPausesMs) yield await t.advance(ms);
    return;
  }
  const step = Math.floor(pollIntervalMs(t) / readsPerPoll);
  const end = t.now() + mostPolls * pollIntervalMs(t);
  for (let now = t.now(); now < end; now = t.now()) {
    const due = (await t.control.nextAt()) ?? now;
    yield await t.advance(due > now ? Math.min(step, due - now) : step);
  }
}

/** The place of the status that a read shows; -1, older than all, without a Message body. */
function rankOf(reply: Reply | undefined): number {
  const { json } = reply ?? {};
  return statuses.indexOf(textOf(Object(json).status) as Status);
}

/** The headers of a client that asks whether an earlier reply is still true. */
function conditionsOf({ headers }: Reply): Record<string, string> {
  const { etag, 'last-modified': date } = headers;
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(date !== undefined && { 'if-modified-since': date }),
  };
}

export const stateCases: readonly Case[] = [
  watchedCase(
    'STATE-2/queued-becomes-sending',
    'the first change of a message that does not fail is from queued to sending',
  ),
  about('STATE-2/pickup-by-a-polling-device', ['sender', 'device'], 1, {
    spends: { tasks: 2 },
    mustRunAlone: true,
    sends: 'a long message with an emoji from a SIM whose device asks for its tasks, twice',
    demands: 'queued until the device polls, and sending at once or within 20 s (taskPickup)',
    steps: async (t) => {
      const handedOut = await sendUntilHandedOut(t, async (account, message) => {
        const long = `${message} \u{1f44b} ${'conformance '.repeat(30)}`.trimEnd();
        const { messageId } = await t.mustSend(account, { message: long });
        if (t.hasControl) await t.advance(3 * pollIntervalMs(t));
        await t.read(account, messageId);
      });
      await t.poll(handedOut.account);
      await readUntilReported(t, handedOut);
    },
  }),
  about('STATE-2/tasks-of-another-account', ['sender', 'device', 'second-account'], 1, {
    spends: { tasks: 2 },
    mustRunAlone: true,
    sends: "polls for the device with another account's key, then with its own",
    demands: 'its own key gets the task; that another one gets it too breaks no rule, but is said',
    steps: async (t) => {
      const { key } = await t.otherAccount();
      const handedOut = await sendUntilHandedOut(t, async (account, message) => {
        await t.mustSend(account, { message });
        await t.poll({ ...account, key });
      });
      await readUntilReported(t, handedOut);
    },
  }),
  about('STATE-2/only-its-own-device-picks-up', ['sender', 'device'], 1, {
    spends: { tasks: 4 },
    mustRunAlone: true,
    sends: "polls for the account's other device and for ids nearly those of the message's device",
    demands: 'not handed out until its own device polls',
    steps: async (t) => {
      const handedOut = await sendUntilHandedOut(t, async (account, message) => {
        const [own = '', other = own] = account.sims.map(({ deviceId }) => deviceId);
        await t.mustSend(account, { message });
        const similarIds = similarIdsOf(own);
        for (const id of t.hasControl ? [other, ...similarIds] : similarIds.slice(2, 5))
          await t.get(paths.tasks(id), account.key);
      });
      await readUntilReported(t, handedOut);
    },
  }),
  {
    ...watchedCase('STATE-2/real-time-pickup', 'it stays queued until it is sending (or fails)'),
    sends: 'a message, read until it is picked up',
  },
  watchedCase(
    'STATE-3/in-order',
    'queued, sending, sent, delivered: no state is skipped or repeated',
  ),
  watchedCase(
    'STATE-3/reaches-delivered',
    'a message that does not fail ends as delivered',
    statusEvidence.delivery,
  ),
  about('STATE-3/never-backwards', ['sender'], 4, {
    waitSeconds: 3,
    sends:
      'reads of a message with two keys, each twice in a row, and of messages of other cases; at each new status a replay, and a read as by a cache that holds the first one',
    demands: 'no read shows an older status than an earlier read',
    steps: async (t, account) => {
      const fields = { request_id: t.requestId() };
      const { messageId } = await t.mustSend(account, fields);
      const first = await t.read(account, messageId);
      const other = await t.anotherKey(account);
      let latestRank = rankOf(first);
      const readOthers = readsOfOthers(t, account);
      const readAll = async () => {
        for (const key of [account.key, other, account.key, other]) {
          latestRank = Math.max(latestRank, rankOf(await t.get(paths.read(messageId), key)));
        }
      };
      let roundsLeft = roundsAfterTheEnd;
      for await (const _ of takePauses(t)) {
        const before = latestRank;
        await Promise.all([readAll(), readOthers()]);
        if (latestRank > before) {
          await t.send(account, fields);
          // Dates of a cache are as exact as a second.
          if (t.now() - first.answeredAt > 2_000)
            await t.get(paths.read(messageId), account.key, conditionsOf(first));
          await readAll();
        }
        if (latestRank >= statuses.indexOf('delivered') && --roundsLeft === 0) break;
      }
    },
  }),
  watchedCase(
    'STATE-4/fails-from-an-unfinished-state',
    'failed only ever follows queued, sending or sent',
  ),
  {
    ...watchedCase('STATE-5/delivered-is-final', 'delivered for ever', statusEvidence.delivery),
    sends: 'a message, read until it has ended and longer, with a control port a month later',
    steps: async (t) => {
      if (t.hasControl) await readLongAfter(t, [t.recipient]);
    },
  },
  about('STATE-5/every-end-of-the-run', ['sender'], 0, {
    isLast: true,
    sends: `reads of up to ${mostReadAgain} messages that other cases saw end`,
    demands: 'each is still delivered or still failed',
    steps: readEndedOfTheRun,
  }),
  about('STATE-5/failed-is-final', ['fresh', 'clock'], 3, {
    sends: 'messages that fail, read for five polls more, a day and a month later',
    demands: 'failed for ever',
    evidence: statusEvidence.failure,
    steps: (t) =>
      readLongAfter(t, [recipients.failsQueued, recipients.failsSending, recipients.failsSent]),
  }),
  watchedCase('STATE-5/nothing-follows-an-end', 'no change after delivered or failed'),
  watchedCase('RES-5/all-its-life', 'only the five states are ever shown', statusEvidence.end),
  watchedCase(
    'SVC-2/sent-later',
    'the reply came while the message was queued; sending came later',
    statusEvidence.pickup,
  ),
  {
    ...watchedCase(
      'SVC-3/picked-up-within-a-poll',
      'both are picked up within about 20 s',
      statusEvidence.secondPickup,
    ),
    mayUse: ['device'],
    sends: 'a message; when it is picked up, another one from the same SIM',
  },
  {
    ...watchedCase(
      'SVC-3/no-faster-than-polls',
      'at least about 20 s between two changes of a status',
      statusEvidence.secondChange,
    ),
    mayUse: ['device'],
  },
];
