/**
 * Selects messages by a query, in pages, newest first. A cursor is the arrival number of the last
 * message of a page, so messages that arrive meanwhile neither repeat nor skip others. A page holds
 * full records: the service's seven fields, and fields that the document does not show.
 * Rules: RES-1. Assumes: heldStatus.
 */
import { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import { statuses } from '#contract/message-status.ts';
import { isoTime } from '#contract/time.ts';
import type { Message } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { segmentText } from '../../sim/sends/segments.ts';
import {
  isReadable,
  messageBody,
  messageHistory,
  shownStatus,
} from '../../sim/store/message-view.ts';
import { limitSchema, numberFilterSchema, timeSchema } from '../input-fields.ts';
import { accountIdOf } from '../running-world.ts';

const shownStatuses = ['queued', 'scheduled', 'sending', 'sent', 'delivered', 'failed'] as const;

export const matchSchema = z.strictObject({
  account_id: z.string().exactOptional().describe('The id or the name of the account.'),
  to: numberFilterSchema.exactOptional().describe('The whole recipient number.'),
  from: numberFilterSchema.exactOptional().describe('The whole sender number.'),
  status: z.enum(shownStatuses).exactOptional().describe('The status that a read shows.'),
  text: z.string().exactOptional().describe('A part of the message text.'),
  request_id: z.string().exactOptional().describe('The whole idempotency key.'),
});
export type MessageMatch = Readonly<z.input<typeof matchSchema>>;

export const defaultPage = 50;
export const largestPage = 1_000;

export const querySchema = matchSchema.extend({
  search: z
    .string()
    .exactOptional()
    .describe('A part of a number, the text, the request_id or the message_id; case is ignored.'),
  limit: limitSchema({ largest: largestPage, fallback: defaultPage }),
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/, { error: 'expected a next_cursor of an earlier page' })
    .exactOptional()
    .describe('The next_cursor of an earlier page.'),
});

/** The filters, with an account's name replaced by its id. */
export function matchIn<Match extends MessageMatch>(world: Registry, match: Match): Match {
  if (match.account_id === undefined) return match;
  return { ...match, account_id: accountIdOf(world, match.account_id, 'account_id') };
}

interface Found {
  readonly messages: Message[];
  readonly hasMore: boolean;
}

/** Messages examined before other requests get a turn. */
const examinedAtOnce = 256;

interface Page {
  readonly limit: number;
  /** The arrival number of the message that the page follows. */
  readonly before?: number | undefined;
  /** Text to search for, as in `querySchema`. */
  readonly search?: string | undefined;
}

/** One page of the messages that match, newest first. */
export function* searchMessages(
  world: Registry,
  match: MessageMatch,
  { limit, before, search = '' }: Page,
): Generator<undefined, Found> {
  let examined = 0;
  const messages: Message[] = [];
  const text = search.toLowerCase();
  const forms = formsOf(text);
  for (const message of newestOf(world, match, before)) {
    if (++examined % examinedAtOnce === 0) yield;
    if (text !== '' && !mentions(message, text, forms)) continue;
    if (!matches(world, match, message)) continue;
    if (messages.length === limit) return { messages, hasMore: true };
    messages.push(message);
  }
  return { messages, hasMore: false };
}

/** The number of messages that match, and the newest `limit` of them. */
export function newestMatching(world: Registry, match: MessageMatch, limit: number) {
  const messages: Message[] = [];
  let count = 0;
  for (const message of newestOf(world, match))
    if (matches(world, match, message) && ++count <= limit) messages.push(message);
  return { count, messages };
}

export function matches(world: Registry, match: MessageMatch, message: Message): boolean {
  const nowMs = world.now();
  return (
    isReadable(message, nowMs, world.assumptions) &&
    (match.account_id === undefined || message.account.accountId === match.account_id) &&
    (match.to === undefined || message.to === match.to) &&
    (match.from === undefined || message.device.number === match.from) &&
    (match.request_id === undefined || message.requestId === match.request_id) &&
    (match.status === undefined ||
      shownStatus(message, nowMs, world.assumptions.heldStatus) === match.status) &&
    (match.text === undefined || message.text.includes(match.text))
  );
}

/** What a search may be a part of, a number or an id: only those are searched. */
function formsOf(text: string) {
  return { isNumber: /^\+?\d*$/.test(text), isId: /^[0-9a-f-]+$/.test(text) };
}

function mentions(
  message: Message,
  text: string,
  { isNumber, isId }: ReturnType<typeof formsOf>,
): boolean {
  return (
    message.mentions(text) ||
    (isNumber && (message.to.includes(text) || message.device.number.includes(text))) ||
    (isId && message.messageId.includes(text))
  );
}

/** The messages of the account in the filters, or of all accounts, newest first. */
function newestOf(world: Registry, { account_id: id }: MessageMatch, before?: number) {
  const account = id === undefined ? undefined : world.accounts.get(id);
  const isUnknown = id !== undefined && account === undefined;
  return isUnknown ? [] : world.messages.newestFirst(account, before);
}

/** RES-1: the fields that the service shows. */
const serviceFields = z.strictObject({
  status: z.string(),
  message_id: z.uuid(),
  request_id: z.string(),
  device_id: z.uuid(),
  from_number: z.string(),
  to: z.string(),
  created_at: timeSchema,
});

export const messageRecordSchema = serviceFields
  .extend({
    account_id: z.uuid(),
    endpoint: z.enum(endpointNames),
    message: z.string(),
    segments: z.int().min(1),
    encoding: z.enum(['GSM-7', 'UCS-2']),
    send_at: timeSchema.nullable(),
    history: z.array(z.strictObject({ status: z.enum(statuses), at: timeSchema })),
    failure_reason: z.string().nullable(),
  })
  .meta({ id: 'Message' });
export type MessageRecord = Readonly<z.output<typeof messageRecordSchema>>;

export function messageRecord(world: Registry, message: Message): MessageRecord {
  const status = shownStatus(message, world.now(), world.assumptions.heldStatus);
  return {
    ...(JSON.parse(messageBody(message, status)) as z.output<typeof serviceFields>),
    account_id: message.account.accountId,
    endpoint: message.endpoint,
    message: message.text,
    ...segmentText(message.text),
    send_at: message.sendAtMs > 0 ? isoTime(message.sendAtMs) : null,
    history: messageHistory(message),
    failure_reason: message.failureReason ?? null,
  };
}
