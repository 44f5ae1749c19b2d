/**
 * What recorded traffic shows where the document is silent: an answer for each assumption on which
 * all exchanges agree, and the shapes of replies, to see what drifts from one recording to the next.
 */

import { type AssumptionName, answersOf } from '../../src/ledger/assumptions.ts';
import { bodyOf, type Exchange, isMessageSend, isRead, methodOf } from '../judges/exchange.ts';
import { holdEndOf, validityOf } from '../judges/validity.ts';
import { documentedEndpointOf } from '../known.ts';
import type { Discovered } from '../outcome.ts';
import * as single from '../single-replies.ts';
import { fieldsNamed, isObject } from '../verify.ts';
import { hasRequestId } from './shown.ts';

type Observe = (one: Exchange) => string | undefined;

function byStatus(
  answers: Readonly<Record<number, string>>,
  fits: (one: Exchange) => boolean,
): Observe {
  return (one) => (one.caller.key === 'valid' && fits(one) ? answers[one.reply.status] : undefined);
}

/** A send whose one doubtful field decides: nothing else about it may be refused. */
function isAbout(field: string, fits: (value: unknown) => boolean) {
  return (one: Exchange): boolean => {
    const value = one.fields?.[field];
    if (!isMessageSend(one) || hasRequestId(one) !== (field === 'request_id') || !fits(value))
      return false;
    return (
      one.reply.status === 202 ||
      (one.reply.status === 400 && fieldsNamed(one.reply).includes(field))
    );
  };
}

const documented = ['to', 'from', 'from_number', 'message', 'request_id', 'send_at'];
const isDeclaredJson = ({ headers }: Exchange) =>
  /^application\/json\b/i.test(headers['content-type'] ?? '');
/** Not of a path with an id, which may be unknown. */
const hasNoSlash = ({ path, id }: Exchange) =>
  id === undefined && ![undefined, 'read', 'tasks'].includes(documentedEndpointOf(`${path}/`));

function isWrongMethod({ method, endpoint, path }: Exchange): boolean {
  if (endpoint === undefined || !path.endsWith('/') || method === 'HEAD') return false;
  const isOther = (method === 'GET') !== (methodOf(endpoint) === 'GET');
  return isOther && ['GET', 'POST', 'PUT'].includes(method);
}

const rows: Readonly<Partial<Record<AssumptionName, Observe>>> = {
  errorBody: (one) => {
    const isSure = isMessageSend(one) && one.fields !== undefined && !hasRequestId(one);
    if (!isSure || one.reply.status !== 400) return undefined;
    const { invalid, open } = validityOf(one, false);
    const [field] = invalid;
    if (field === undefined || invalid.length + open.length !== 1) return undefined;
    return single.errorBodyOf(one.reply, field);
  },
  notFoundBody: ({ method, endpoint, reply }) =>
    method === 'GET' && endpoint === 'read' ? single.notFoundBodyOf(reply) : undefined,
  // No body at all may be read as one without fields (`emptyBody`).
  malformedJson: (one) =>
    isMessageSend(one) && one.fields === undefined && isDeclaredJson(one) && one.body
      ? single.malformedJsonOf(one.reply)
      : undefined,
  contentType: byStatus(
    single.contentType,
    (one) => isMessageSend(one) && one.fields !== undefined && !isDeclaredJson(one),
  ),
  trailingSlash: byStatus(single.trailingSlash, hasNoSlash),
  methodNotAllowed: byStatus(single.methodNotAllowed, isWrongMethod),
  headMethod: byStatus(
    single.headMethod,
    ({ method, endpoint, path }) => method === 'HEAD' && endpoint === 'stats' && path.endsWith('/'),
  ),
  unknownFields: (one) => {
    const extra = Object.keys(one.fields ?? {}).find((name) => !documented.includes(name));
    if (extra === undefined || !isMessageSend(one)) return undefined;
    if (one.reply.status === 202) return 'ignore';
    return one.reply.status === 400 && fieldsNamed(one.reply).includes(extra)
      ? 'reject'
      : undefined;
  },
  nullFields: byStatus(
    { 202: 'absent', 400: 'reject' },
    isAbout('send_at', (value) => value === null),
  ),
  emptySendAt: byStatus(
    { 202: 'absent', 400: 'reject' },
    isAbout('send_at', (value) => value === ''),
  ),
  blankMessage: byStatus(
    { 202: 'accept', 400: 'reject' },
    isAbout('message', (value) => typeof value === 'string' && value.trim() === ''),
  ),
  receivedShape: ({ endpoint, reply }) =>
    endpoint === 'received'
      ? single.listShapeOf(reply, 'count,next,previous,results', 'page')
      : undefined,
  tasksShape: ({ endpoint, reply }) =>
    endpoint === 'tasks' ? single.listShapeOf(reply, 'tasks', 'tasks') : undefined,
};

const observers = Object.entries(rows);

/** The members of replies to one endpoint with one status. */
interface Shape {
  replies: number;
  readonly members: Map<string, number>;
}

const mostMembers = 500;
const deepest = 4;

export class Observations {
  readonly #answers = new Map<string, Map<string, number>>();
  readonly shapes = new Map<string, Shape>();

  note(one: Exchange): void {
    for (const [name, observe] of observers) this.#answer(name, observe(one));
    this.#shape(one);
  }

  /** The exchanges of one message, and the sends under one id. */
  noteGroup(group: readonly Exchange[]): void {
    const [first] = group;
    if (first === undefined || first.reply.status !== 202) return;
    for (const one of group.slice(1)) {
      const { status } = one.reply;
      const isReplay =
        isMessageSend(one) && one.fields?.['request_id'] === first.fields?.['request_id'];
      if (isReplay && one.body !== first.body && hasRequestId(one))
        this.#answer('replayDifferentBody', replyToOtherBody[status]);
      const until = holdEndOf(first) ?? 0;
      const isHeld = isRead(one) && status === 200 && one.answeredAt < until - heldForMs;
      if (isHeld && isMessageSend(first)) this.#answer('heldStatus', String(bodyOf(one)['status']));
    }
  }

  discovered(): Discovered {
    const answers: Record<string, unknown> = {};
    const undetermined: Record<string, string> = {};
    for (const [name, seen] of this.#answers) {
      const [[answer] = ['']] = seen;
      if (seen.size === 1) answers[name] = answer;
      else
        undetermined[name] =
          `the traffic shows ${[...seen].map(([one, times]) => `${one} (${times})`).join(' and ')}`;
    }
    return { answers, undetermined };
  }

  #answer(name: string, answer: string | undefined): void {
    if (answer === undefined || !answersOf(name as AssumptionName).includes(answer)) return;
    const seen = this.#answers.get(name) ?? new Map<string, number>();
    this.#answers.set(name, seen);
    seen.set(answer, (seen.get(answer) ?? 0) + 1);
  }

  #shape({ method, endpoint, reply }: Exchange): void {
    // A 400 may have a member for each field.
    if (endpoint === undefined || reply.status === 0 || reply.status === 400) return;
    const name = `${method} ${endpoint} ${reply.status}`;
    const shape = this.shapes.get(name) ?? { replies: 0, members: new Map<string, number>() };
    this.shapes.set(name, shape);
    shape.replies++;
    const type = (reply.headers['content-type'] ?? 'none').split(';', 1)[0];
    for (const member of new Set([`content-type ${type}`, ...membersOf(reply.json, '', 0)]))
      if (shape.members.size < mostMembers)
        shape.members.set(member, (shape.members.get(member) ?? 0) + 1);
  }
}

/** Long enough for any difference of clocks. */
const heldForMs = 60_000;

const replyToOtherBody: Readonly<Record<number, string>> = {
  200: 'return_original',
  409: 'conflict',
};

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

/** Each member with its type, such as `results[].to string`. */
function* membersOf(value: unknown, at: string, depth: number): Generator<string> {
  const [first] = Array.isArray(value) ? value : [];
  if (at !== '') yield `${at} ${typeOf(value)}`;
  if (depth > deepest) return;
  if (first !== undefined) yield* membersOf(first, `${at}[]`, depth + 1);
  if (isObject(value))
    for (const [name, inner] of Object.entries(value))
      yield* membersOf(inner, at === '' ? name : `${at}.${name}`, depth + 1);
}
