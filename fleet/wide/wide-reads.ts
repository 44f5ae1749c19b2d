/**
 * The reads of a wide world (a world that spans all shards) that take more than to join the shards'
 * replies: pages of messages, newest first, `messages.wait`, and one request. Each shard has the
 * messages and requests of its own accounts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '#contract/request-and-reply.ts';
import { isoTime } from '#contract/time.ts';
import type { ControlReply, ControlRequest } from '#src/http/transport/transport.ts';
import { defaultPage, largestPage } from '#src/operations/messages/message-query.ts';
import { waitInputSchema, waitTimeout } from '#src/operations/messages/wait-for-messages.ts';
import { readInput } from '#src/operations/perform.ts';
import { routeOf } from '#src/operations/table.ts';
import { OperationRefused } from '#src/sim/errors.ts';
import { changedReply, okReply, passedReply, requestForShard, type ShardRequest } from '../ask.ts';
import { shardNumber, withFleetNumbers } from '../join.ts';
import type { ReplyOf, Shard } from '../shard.ts';
import type { WideClock } from './wide-clock.ts';

type Page = ReplyOf<'messages.page'>;

type Shards = readonly [Shard, ...Shard[]];

/** The time between two counts of the messages that match. */
const waitPauseMs = 20;
/** Stands in a cursor for a shard without further messages. */
const ended = 'x';
/** The fields of a request that hold numbers of requests. */
const requestNumbers = ['number', 'repeats', 'previous.number', 'next.number', 'afterwards.number'];

/** A page of the messages of one shard, and the cursor that it was read from. */
interface ShardPage {
  readonly shard: Shard;
  /** Empty: the first page. */
  readonly cursor: string;
  readonly page: Page;
}

/**
 * The newest messages of all shards, as one page. Its cursor has one part for each shard, with dots
 * between: the shard's own cursor, empty for its first page, or `ended`.
 */
export async function pageOfMessages(
  shards: Shards,
  request: ControlRequest,
): Promise<ControlReply> {
  const query = new URLSearchParams(request.query);
  const cursors = query.get('cursor')?.split('.') ?? [];
  const size = query.get('limit') ?? `${defaultPage}`;
  const limit = Number(size);
  const replies = await Promise.all(
    shards.map((shard, index) => {
      const cursor = cursors[index] ?? '';
      return cursor === ended ? undefined : shard.ask(pageRequest(request, cursor, size));
    }),
  );
  const refusal = replies.find((reply) => reply !== undefined && reply.status !== 200);
  if (refusal !== undefined) return passedReply(refusal);
  const pages = shards.map((shard, index): ShardPage => {
    const body = replies[index]?.body;
    const page: Page = body === undefined ? { messages: [], next_cursor: null } : JSON.parse(body);
    return { shard, cursor: cursors[index] ?? '', page };
  });
  const newest = newestOf(pages, limit);
  const next = await Promise.all(
    pages.map((page) => {
      const shownCount = newest.filter(({ shard }) => shard === page.shard).length;
      return cursorAfter(page, shownCount, request);
    }),
  );
  return okReply({
    messages: newest.map(({ message }) => message),
    next_cursor: next.every((cursor) => cursor === ended) ? null : next.join('.'),
  });
}

function pageRequest(request: ControlRequest, cursor: string, size: string): ShardRequest {
  const query = new URLSearchParams(request.query);
  query.set('limit', size);
  query.delete('cursor');
  if (cursor !== '') query.set('cursor', cursor);
  return requestForShard(request, { query: query.toString() });
}

function newestOf(pages: readonly ShardPage[], limit: number) {
  return pages
    .flatMap(({ shard, page }) => page.messages.map((message) => ({ message, shard })))
    .sort((a, b) => Date.parse(b.message.created_at) - Date.parse(a.message.created_at))
    .slice(0, limit);
}

/** The cursor of a shard after the first `shownCount` messages of its page. */
async function cursorAfter(
  { shard, cursor, page: { messages, next_cursor: next } }: ShardPage,
  shownCount: number,
  request: ControlRequest,
): Promise<string> {
  if (shownCount === messages.length) return next ?? ended;
  if (shownCount === 0) return cursor;
  // A page of only the messages that are shown has the cursor after them.
  const { body } = await shard.ask(pageRequest(request, cursor, `${shownCount}`));
  return (JSON.parse(body) as Page).next_cursor ?? ended;
}

/** Waits until enough messages of all shards match. Throws an OperationRefused on a timeout. */
export async function waitForMessages(
  shards: Shards,
  clock: WideClock,
  input: unknown,
): Promise<ControlReply> {
  const wait = readInput(waitInputSchema, input);
  const { match, count, timeout_ms: timeoutMs, advance } = wait;
  const body = JSON.stringify({ match, count: 1, timeout_ms: 0 });
  const countRequest = { ...routeOf('messages.wait'), body };
  const startedMs = performance.now();
  const start = await clock.state();
  if (advance && start.mode !== 'manual')
    throw new OperationRefused('invalid', 'advance needs a manual clock', 'advance');
  const untilMs = Date.parse(start.now) + timeoutMs;
  for (;;) {
    const { refusal, matching, messages } = await matchingOn(shards, countRequest);
    if (refusal !== undefined) return passedReply(refusal);
    if (matching >= count) return okReply({ count: matching, messages });
    const { now, next_at: nextAt } = await clock.state();
    const isOver = advance
      ? Date.parse(now) >= untilMs
      : performance.now() - startedMs >= timeoutMs;
    if (isOver) throw waitTimeout(matching, wait);
    if (!advance) await pause(waitPauseMs);
    else {
      const deadlineMs = nextAt === null ? untilMs : Date.parse(nextAt);
      await clock.advance({ to: isoTime(Math.min(untilMs, deadlineMs)) });
    }
  }
}

/** The messages of all shards that match now, and their number. `refusal`: the first, if any. */
async function matchingOn(shards: Shards, request: ShardRequest) {
  const replies = await Promise.all(shards.map((shard) => shard.ask(request)));
  const found = replies
    .filter(({ status }) => status === 200)
    .map(({ body }) => JSON.parse(body) as ReplyOf<'messages.wait'>);
  return {
    // 408: the shard has none.
    refusal: replies.find(({ status }) => status !== 200 && status !== 408),
    matching: found.reduce((sum, part) => sum + part.count, 0),
    messages: found.flatMap((part) => part.messages).slice(0, largestPage),
  };
}

/** One request. Its number in the fleet gives its shard, and its number there. */
export async function requestDetail(
  shards: Shards,
  fleetNumber: string,
  shardRequest: ShardRequest,
): Promise<ControlReply> {
  const count = shards.length;
  const { number, shardIndex: index } = shardNumber(Number(fleetNumber), count);
  const { path } = routeOf('requests.get', String(number));
  const reply = await (shards[index] ?? shards[0]).ask({ ...shardRequest, path });
  if (reply.status === 200) {
    return changedReply(reply, (view: Json) =>
      withFleetNumbers(view, requestNumbers, { index, count }),
    );
  }
  // A refusal names the number that was asked for.
  return changedReply(reply, ({ error }: { error: { message: string } }) => ({
    error: { ...error, message: error.message.replace(String(number), fleetNumber) },
  }));
}
