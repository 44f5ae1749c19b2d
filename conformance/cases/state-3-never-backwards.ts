/**
 * A read never shows an older status than an earlier read did: with another key, twice in a row,
 * and after a replay.
 * Rule: STATE-3.
 */
import { about, type Case } from '../case.ts';
import { pollIntervalMs } from '../recorded-lives.ts';
import type { Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const order = ['queued', 'sending', 'sent', 'delivered', 'failed'];
const final = order.indexOf('delivered');
const readsPerPoll = 5;
const mostPolls = 9;
const mostReads = 400;
const roundsAfterTheEnd = 4;
/** Pauses in real time: short at first, then covering five polls of 20 s. */
const realPausesMs = [...Array(20).fill(400), ...Array(50).fill(1_800)];

/** Ends each pause at the next deadline, so that reads directly follow a change. */
async function* pauses(t: Trial): AsyncGenerator<void> {
  if (!t.controlled) {
    for (const ms of realPausesMs) yield await t.advance(ms);
    return;
  }
  const step = Math.floor(pollIntervalMs(t) / readsPerPoll);
  const end = (await t.now()) + mostPolls * pollIntervalMs(t);
  for (let i = 0; i < mostReads; i += 1) {
    const now = await t.now();
    if (now >= end) return;
    const due = (await t.control.nextAt()) ?? now;
    yield await t.advance(due > now ? Math.min(step, due - now) : step);
  }
}

export const state3NeverBackwardsCases: readonly Case[] = [
  {
    ...about('STATE-3/never-backwards', ['sender'], { sends: 4, waits: 3 }),
    alone: true,
    sends: 'reads of a message with two keys, each twice in a row, and a replay at each new status',
    demands: 'no read shows an older status than an earlier read',
    run: async (t) => {
      const account = await t.account();
      const fields = { request_id: t.requestId() };
      const { messageId } = await t.queued(account, fields);
      const hasOther = t.controlled || t.target.flags.otherApiKey !== undefined;
      const other = hasOther ? await t.secondKey(account) : account;
      const readers = [account, { ...account, key: other.key }];
      let latest = 0;
      let roundsLeft = roundsAfterTheEnd;
      const readAll = async (when: string) => {
        for (const reader of [...readers, ...readers]) {
          const reply = await t.read(reader, messageId);
          const { status } = verify.message(reply, 200);
          // The service may name the status of a held message itself (`heldStatus`).
          const rank = order.indexOf(String(status));
          verify.that(rank < 0 || rank >= latest, `${order[latest]} or later ${when}`, reply);
          latest = Math.max(latest, rank);
        }
      };
      for await (const _ of pauses(t)) {
        const before = latest;
        await readAll('than an earlier read showed');
        if (latest > before) {
          await t.send(account, fields);
          await readAll('after a replay');
          t.count();
        }
        if (latest >= final && --roundsLeft === 0) break;
      }
      if (t.exercised === 0) t.lack('a message that is picked up within the wait');
    },
  },
];
