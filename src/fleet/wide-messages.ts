/**
 * Messages of a world that spans all shards: pages of them, newest first, and waiting for some.
 */
import type { ControlReply, ControlRequest } from '../http/transport/transport.ts';
import { readInput } from '../operations/input.ts';
import { defaultPage, largestPage } from '../operations/message-query.ts';
import { routeOf } from '../operations/table.ts';
import { waitInputSchema } from '../operations/wait.ts';
import { isoTime } from '../sim/clock.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import { askedOf, pause } from './ask.ts';
import { okReply, passedReply } from './replies.ts';
import type { ReplyOf, Shard } from './shard.ts';
import type { WideClock } from './wide-clock.ts';

type Page = ReplyOf<'messages.page'>;

type Shards = readonly [Shard, ...Shard[]];

const waitPauseMs = 20;
/** The part of a cursor for a shard that has shown all. */
const ended = 'x';

/** A cursor has one part for each shard. */
export async function pageOfMessages(
  shards: Shards,
  request: ControlRequest,
): Promise<ControlReply> {
  const query = new URLSearchParams(request.query);
  const cursors = query.get('cursor')?.split('.') ?? [];
  const limit = query.get('limit') ?? `${defaultPage}`;
  const pageOf = (at: number, most: string) => {
    const own = new URLSearchParams(query);
    own.set('limit', most);
    own.delete('cursor');
    if (cursors[at]) own.set('cursor', cursors[at]);
    return (shards[at] ?? shards[0]).ask(askedOf(request, '', own.toString()));
  };
  const answers = await Promise.all(
    shards.map((_, at) => (cursors[at] === ended ? undefined : pageOf(at, limit))),
  );
  const refusal = answers.find((answer) => answer !== undefined && answer.status !== 200);
  if (refusal !== undefined) return passedReply(refusal);
  const pages = answers.map((answer): Page => {
    if (answer === undefined) return { messages: [], next_cursor: null };
    return JSON.parse(answer.body) as Page;
  });
  const shown = pages
    .flatMap(({ messages }, at) => messages.map((message) => ({ message, at })))
    .sort((a, b) => Date.parse(b.message.created_at) - Date.parse(a.message.created_at))
    .slice(0, Number(limit));
  const next = await Promise.all(
    pages.map(async ({ messages, next_cursor: cursor }, at) => {
      const taken = shown.filter((each) => each.at === at).length;
      if (taken === messages.length) return cursor ?? ended;
      if (taken === 0) return cursors[at] ?? '';
      return (JSON.parse((await pageOf(at, `${taken}`)).body) as Page).next_cursor ?? ended;
    }),
  );
  return okReply({
    messages: shown.map(({ message }) => message),
    next_cursor: next.every((cursor) => cursor === ended) ? null : next.join('.'),
  });
}

/** As one process does, looking at all shards in turn. */
export async function waitForMessages(
  shards: Shards,
  clock: WideClock,
  given: unknown,
): Promise<ControlReply> {
  const { match, count, timeout_ms: timeoutMs, advance } = readInput(waitInputSchema, given);
  const body = JSON.stringify({ match, count: 1, timeout_ms: 0 });
  const asked = { ...routeOf('messages.wait'), body };
  const startedMs = performance.now();
  const start = await clock.state();
  if (advance && start.mode !== 'manual') {
    throw new OperationRefused('invalid', 'advance needs a manual clock', 'advance');
  }
  const untilMs = Date.parse(start.now) + timeoutMs;
  for (;;) {
    const answers = await Promise.all(shards.map((shard) => shard.ask(asked)));
    const refusal = answers.find(({ status }) => status !== 200 && status !== 408);
    if (refusal !== undefined) return passedReply(refusal);
    const parts = answers
      .filter(({ status }) => status === 200)
      .map((answer) => JSON.parse(answer.body) as ReplyOf<'messages.wait'>);
    const matching = parts.reduce((sum, part) => sum + part.count, 0);
    const messages = parts.flatMap((part) => part.messages).slice(0, largestPage);
    if (matching >= count) return okReply({ count: matching, messages });
    const { now, next_at: nextAt } = await clock.state();
    const isLate = advance
      ? Date.parse(now) >= untilMs
      : performance.now() - startedMs >= timeoutMs;
    if (isLate) {
      const unit = advance ? 'simulated ms' : 'ms';
      const message = `${matching} of ${count} messages matched within ${timeoutMs} ${unit}`;
      throw new OperationRefused('timeout', message);
    }
    if (!advance) await pause(waitPauseMs);
    else {
      const dueMs = nextAt === null ? untilMs : Date.parse(nextAt);
      await clock.advance({ to: isoTime(Math.min(untilMs, dueMs)) });
    }
  }
}
