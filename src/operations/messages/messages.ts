/**
 * The operations on messages: find them, wait for them, step them and make them fail.
 * Rules: STATE-1 to STATE-5.
 */
import { z } from 'zod';
import { atOnce } from '#io/event-loop.ts';
import { conflict } from '../../sim/errors.ts';
import { defineOperation } from '../define.ts';
import { perform } from '../perform.ts';
import type { RunningWorld } from '../running-world.ts';
import {
  type MessageRecord,
  matchIn,
  messageRecord,
  messageRecordSchema,
  querySchema,
  searchMessages,
} from './message-query.ts';
import { standstillSchema, standstills } from './standstills.ts';
import { advanceUntil, waitedSchema, waitFor, waitInputSchema } from './wait-for-messages.ts';
import { waitingSchema, waitingView } from './what-it-waits-for.ts';

/** Records built before other requests get a turn. */
const recordsAtOnce = 32;

/** `messages.wait` with `advance`, which does not wait in real time. Journals record it. */
const advancing = defineOperation({
  summary: 'Moves simulated time until enough messages match, synchronously.',
  input: waitInputSchema,
  output: waitedSchema,
  recorded: 'messages.wait',
  run: advanceUntil,
});

export const messages = {
  list: defineOperation({
    summary: 'The newest messages that match, as many as `limit` says, newest first.',
    input: querySchema.prefault({}),
    output: z.array(messageRecordSchema),
    examples: [{ status: 'queued', limit: 1 }],
    run: (live, query) => atOnce(pageOf(live, query)).messages,
  }),

  page: defineOperation({
    http: 'GET /control/messages',
    summary: 'One page of the messages of all accounts, newest first.',
    input: querySchema.prefault({}),
    output: z.strictObject({
      messages: z.array(messageRecordSchema).describe('Newest first.'),
      next_cursor: z.string().nullable().describe('Null: there are no more.'),
    }),
    fleet: { joined: 'computed' },
    examples: [{ status: 'queued', limit: 1 }, { text: 'Hello' }, { to: '+12025550123' }],
    slices: pageOf,
  }),

  wait: defineOperation({
    http: 'POST /control/messages/wait',
    summary: 'Answers when enough messages match.',
    description:
      'Answers 408 after `timeout_ms`. With a manual clock, `advance` moves simulated time until then.',
    input: waitInputSchema,
    output: waitedSchema,
    fleet: { joined: 'computed' },
    refusals: [408, 409],
    recorded: false,
    isAsync: true,
    examples: [{ match: { status: 'sent' }, advance: true, timeout_ms: 90_000 }],
    run: async (live, wait) =>
      wait.advance
        ? (perform(advancing, live, undefined, wait) as ReturnType<typeof advanceUntil>)
        : waitFor(live, wait),
  }),

  advanceUntil: advancing,

  get: defineOperation({
    http: 'GET /control/messages/{message_id}',
    summary: 'The full record of a message, with its history.',
    output: messageRecordSchema,
    run: ({ simulation }, message) => messageRecord(simulation.world, message),
  }),

  waiting: defineOperation({
    http: 'GET /control/messages/{message_id}/waiting',
    summary: 'Why the message has its status: what it waits for, until when, what would move it.',
    output: waitingSchema,
    run: waitingView,
  }),

  standstills: defineOperation({
    http: 'GET /control/standstills',
    summary:
      'The messages that wait for a user and not for time, by SIM and reason, and by recipient if it is scripted.',
    output: z.strictObject({ standstills: z.array(standstillSchema) }),
    fleet: { joined: { standstills: { all: 'unchanged' } } },
    slices: standstills,
    reply: (standstills) => ({ standstills }),
  }),

  progress: defineOperation({
    http: 'POST /control/messages/{message_id}/progress',
    summary: 'Takes one legal step: queued, sending, sent, delivered.',
    output: messageRecordSchema,
    refusals: [409],
    run: ({ simulation }, message) => {
      const { status } = message;
      if (!simulation.deviceActors.progress(message))
        throw conflict(`a message that is ${status} has no next step`);
      return messageRecord(simulation.world, message);
    },
  }),

  fail: defineOperation({
    http: 'POST /control/messages/{message_id}/fail',
    summary: 'Makes the message fail.',
    input: z.strictObject({ reason: z.string().min(1).max(200).default('forced') }).prefault({}),
    output: messageRecordSchema,
    refusals: [409],
    examples: [{ reason: 'no_route' }],
    run: ({ simulation }, message, { reason }) => {
      const { status } = message;
      if (!simulation.deviceActors.fail(message, reason))
        throw conflict(`a message that is ${status} cannot fail`);
      return messageRecord(simulation.world, message);
    },
  }),
};

function* pageOf(
  { simulation: { world } }: RunningWorld,
  { limit, cursor, search, ...match }: z.output<typeof querySchema>,
) {
  const before = cursor === undefined ? undefined : Number(cursor);
  const page = { limit, before, search };
  const found = yield* searchMessages(world, matchIn(world, match), page);
  const messages: MessageRecord[] = [];
  for (const message of found.messages) {
    messages.push(messageRecord(world, message));
    if (messages.length % recordsAtOnce === 0) yield;
  }
  const last = found.messages.at(-1);
  const next_cursor = found.hasMore && last !== undefined ? String(last.arrival) : null;
  return { messages, next_cursor };
}
