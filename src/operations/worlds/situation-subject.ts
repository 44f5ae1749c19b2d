/**
 * The subject of a copied situation: one message or request. Finds its requests by the intent that
 * the referee sees in them, and gives tests for the inputs that a copy of the situation may need.
 */
import { messageIdIfAny } from '#judging/client/exchange.ts';
import { defaultGraceMs } from '#judging/client/record.ts';
import type { Entry, OperationEntry, RequestEntry } from '#judging/evidence/journal-entry.ts';
import type { Message } from '../../sim/accounts/account.ts';
import { conflict } from '../../sim/errors.ts';
import { newestMatching } from '../messages/message-query.ts';
import { keptReportOn } from '../requests/kept-reports.ts';
import { exchangesOfIntent } from '../requests/trace.ts';
import { find, type RunningWorld } from '../running-world.ts';

/** The most messages whose statuses a test asserts. */
export const mostStatuses = 20;

/** Selects the messages whose statuses a test asserts. */
export interface ShownMessages {
  readonly to?: string;
  readonly request_id?: string;
}

export type Input = OperationEntry | RequestEntry;

/** An input, and the number of the last request up to it. */
export interface NumberedInput {
  readonly input: Input;
  readonly number: number;
}

/** The requests of the message or of the request that the test is about. */
export interface SubjectRequests {
  /** The number of the request that the user asked for. */
  readonly asked: number | undefined;
  readonly found: ReturnType<typeof exchangesOfIntent>;
  readonly numbers: ReadonlySet<number>;
  /** Tests for the inputs to keep, from the fewest to all. */
  readonly filters: readonly ((input: NumberedInput) => boolean)[];
  /** The message that was asked for, that the request created, or that its intent created. */
  readonly messageId: string | undefined;
}

/** How the world shows the subject at one instant. */
export interface TestSubject {
  readonly title: string;
  readonly match: ShownMessages;
  /** The statuses of its messages; undefined if it created none. */
  readonly statuses: readonly string[] | undefined;
}

/** The requests of the subject; undefined if that is the whole world. */
export function* subjectRequests(
  live: RunningWorld,
  messageId: string | undefined,
  number: number | undefined,
): Generator<undefined, SubjectRequests | undefined> {
  if (messageId === undefined && number === undefined) return undefined;
  // Only with a finished client does an intent include its retries under a new request_id.
  const options = { isPartial: false, isStrict: false, graceMs: defaultGraceMs };
  const { report } = yield* keptReportOn(live, options);
  const givenId = messageId && find('message_id', live, messageId).messageId;
  const found = exchangesOfIntent(report, number, givenId);
  const numbers = new Set([...found.attempts, ...found.reads].map((each) => each.number));
  if (numbers.size === 0) throw conflict('the record no longer has the requests of this');
  const account = live.simulation.world.accounts.get(found.attempts[0]?.caller.account ?? '');
  const keyIds = new Set((account?.keys ?? []).map(({ keyId }) => keyId));
  return {
    asked: number,
    found,
    numbers,
    filters: filtersOf(numbers, keyIds),
    messageId: givenId ?? (found.traced && messageIdIfAny(found.traced)) ?? found.messageId,
  };
}

/** The subject as a world shows it, which may be the one of an earlier instant. */
export function subjectIn(
  live: RunningWorld,
  { asked, found, messageId }: SubjectRequests,
): TestSubject {
  const { messages } = live.simulation.world;
  const message = messageId === undefined ? undefined : messages.get(messageId);
  const match =
    message === undefined
      ? {}
      : { to: message.to, ...(message.requestId !== '' && { request_id: message.requestId }) };
  return {
    title: titleOf(found, asked, message),
    match,
    statuses: message === undefined ? undefined : statusesOf(live, match),
  };
}

/** `numbers`: the requests of the subject. `keyIds`: the keys of its account. */
function filtersOf(
  numbers: ReadonlySet<number>,
  keyIds: ReadonlySet<string>,
): SubjectRequests['filters'] {
  const last = Math.max(...numbers);
  const isOfSubject = ({ input, number }: NumberedInput) =>
    !isRequest(input) || numbers.has(number);
  // Later faults affect none of its requests.
  const isUpToLast = (each: NumberedInput) =>
    isOfSubject(each) && (each.number < last || !isFault(each.input));
  const isOfAccount = (each: NumberedInput) =>
    isOfSubject(each) || (isRequest(each.input) && keyIds.has(each.input.request.key_id ?? ''));
  const isOfAccountUpToLast = (each: NumberedInput) => each.number <= last && isOfAccount(each);
  return [isUpToLast, isOfSubject, isOfAccountUpToLast, isOfAccount, () => true];
}

/** A test of a send is named after it, its reply, and what its intent also sent. */
function titleOf(
  { traced, attempts }: SubjectRequests['found'],
  number: number | undefined,
  message: Message | undefined,
): string {
  const [first] = attempts;
  if (number !== undefined && traced?.method === 'POST') {
    const ending = traced.isSeen ? `answered ${traced.reply.status}` : 'whose reply was lost';
    const others = traced === first ? 'its retries' : 'the other attempts';
    return `request ${number}, ${ending}${attempts.length > 1 ? `, and ${others}` : ''}`;
  }
  return message === undefined
    ? `${first?.method} ${first?.target} is answered ${first?.reply.status}`
    : `a message to ${message.to} is ${message.status}`;
}

export function statusesOf({ simulation }: RunningWorld, match: ShownMessages): readonly string[] {
  const { messages } = newestMatching(simulation.world, match, mostStatuses);
  return messages.map(({ status }) => status);
}

function isFault(input: Input): boolean {
  return 'operation' in input && input.operation.startsWith('faults.');
}

export function isRequest(input: Entry): input is RequestEntry {
  return 'request' in input;
}
