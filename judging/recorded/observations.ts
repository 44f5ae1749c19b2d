/**
 * What recorded traffic shows where the document is silent: the answer to each assumption, if all
 * exchanges agree on it, and the shapes of replies, which `conformance/run/run-recorded.ts`
 * compares between recordings.
 */
import { type AssumptionName, answersOf } from '#contract/assumptions.ts';
import { statusOfOtherBody } from '#contract/refusals.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { minuteMs } from '#contract/time.ts';
import { getOrAdd } from '#io/grouped.ts';
import * as single from '../discovery/single-replies.ts';
import {
  bodyOf,
  type Exchange,
  isMessageSend,
  isRead,
  methodOf,
  routeIn,
} from '../evidence/exchange.ts';
import type { Discovered } from '../report/outcome.ts';
import { namesField } from '../service/named-fields.ts';
import { documentedNames, holdEndOf, validityOf } from '../service/validity.ts';
import { hasRequestId, isDeclaredJson } from './recorded-rules.ts';

/** The answer that an exchange shows; undefined if it shows none. */
type Observe = (exchange: Exchange) => string | undefined;

function byStatus(
  answers: Readonly<Record<number, string>>,
  fits: (exchange: Exchange) => boolean,
): Observe {
  return (exchange) =>
    exchange.caller.key === 'valid' && fits(exchange) ? answers[exchange.reply.status] : undefined;
}

/** True for a send without a `request_id` that was accepted, or refused for this field. */
function acceptsOrRefusesFor(field: string, one: Exchange): boolean {
  if (!isMessageSend(one) || hasRequestId(one)) return false;
  const { status, json } = one.reply;
  return status === 202 || (status === 400 && namesField(json, field));
}

// Only these two replies name one answer: several answers refuse `""`, several accept white space.
const observeEmpty = byStatus(
  { 202: 'accept' },
  (one) => one.fields?.['message'] === '' && acceptsOrRefusesFor('message', one),
);
const observeWhiteSpace = byStatus({ 400: 'reject' }, (one) => {
  const text = one.fields?.['message'];
  return typeof text === 'string' && /^\s+$/u.test(text) && acceptsOrRefusesFor('message', one);
});
const absentOrRefused = { 202: 'absent', 400: 'reject' };

/** A documented path without its last slash. Paths with an id are left out: it may be unknown. */
const hasNoSlash = ({ path, id }: Exchange) =>
  id === undefined &&
  !path.endsWith('/') &&
  ![undefined, 'read', 'tasks'].includes(routeIn(`${path}/`)?.route.endpoint);

function isWrongMethod({ method, endpoint, path }: Exchange): boolean {
  if (endpoint === undefined || !path.endsWith('/') || method === 'HEAD') return false;
  const isOther = (method === 'GET') !== (methodOf(endpoint) === 'GET');
  return isOther && ['GET', 'POST', 'PUT'].includes(method);
}

/** For each assumption: the answer that a single exchange shows. */
const rows: Readonly<Partial<Record<AssumptionName, Observe>>> = {
  errorBody: (one) => {
    const isSimple = isMessageSend(one) && one.fields !== undefined && !hasRequestId(one);
    if (!isSimple || one.reply.status !== 400) return undefined;
    const { invalid, open } = validityOf(one, { hasExactTimes: false });
    const [field] = invalid;
    if (field === undefined || invalid.length + open.length !== 1) return undefined;
    return single.errorBodyOf(one.reply, field);
  },
  notFoundBody: ({ method, endpoint, reply }) =>
    method === 'GET' && endpoint === 'read' ? single.notFoundBodyOf(reply) : undefined,
  // An empty body is left out: it may count as an object without fields (`emptyBody`).
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
    const extra = Object.keys(one.fields ?? {}).find((name) => !documentedNames.includes(name));
    if (extra === undefined || !isMessageSend(one)) return undefined;
    if (one.reply.status === 202) return 'ignore';
    return one.reply.status === 400 && namesField(one.reply.json, extra) ? 'reject' : undefined;
  },
  nullFields: byStatus(
    absentOrRefused,
    (one) => one.fields?.['send_at'] === null && acceptsOrRefusesFor('send_at', one),
  ),
  emptySendAt: byStatus(
    absentOrRefused,
    (one) => one.fields?.['send_at'] === '' && acceptsOrRefusesFor('send_at', one),
  ),
  blankMessage: (one) => observeEmpty(one) ?? observeWhiteSpace(one),
  receivedShape: ({ endpoint, reply }) =>
    endpoint === 'received'
      ? single.listShapeOf(reply, 'count,next,previous,results', 'page')
      : undefined,
  tasksShape: ({ endpoint, reply }) =>
    endpoint === 'tasks' ? single.listShapeOf(reply, 'tasks', 'tasks') : undefined,
};

const observers = Object.entries(rows) as [AssumptionName, Observe][];

/** The members of replies to one endpoint with one status. */
interface Shape {
  replies: number;
  /** How many of the replies have the member. */
  readonly members: Map<string, number>;
  /** The last reply whose members were listed: most are like the one before. */
  last: Listed | undefined;
}

interface Listed {
  readonly type: string;
  readonly json: unknown;
  readonly members: ReadonlySet<string>;
}

const mostMembers = 500;
const deepest = 4;

/** The clocks of services and recorders differ by less. */
const clockSlackMs = minuteMs;

const replyToOtherBody: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(statusOfOtherBody).map(([answer, status]) => [status, answer]),
);

export class Observations {
  /** By assumption: how many exchanges show each answer. */
  readonly #answers = new Map<AssumptionName, Map<string, number>>();
  /** By method, endpoint and status. */
  readonly shapes = new Map<string, Shape>();

  note(exchange: Exchange): void {
    for (const [name, observe] of observers) this.#noteAnswer(name, observe(exchange));
    this.#noteShape(exchange);
  }

  /** Takes the exchanges of one message, or the sends under one `request_id`. */
  noteGroup(group: readonly Exchange[]): void {
    // Most groups have one exchange.
    if (group.length < 2) return;
    const [first, ...others] = group;
    if (first === undefined || first.reply.status !== 202) return;
    for (const other of others) {
      this.#noteReplay(first, other);
      this.#noteHeld(first, other);
    }
  }

  /** The answers on which all exchanges agree, and why other answers are not determined. */
  discovered(): Discovered {
    const answers: Record<string, unknown> = {};
    const undetermined: Record<string, string> = {};
    for (const [name, seen] of this.#answers) {
      const [answer = ''] = seen.keys();
      const counts = [...seen].map(([each, times]) => `${each} (${times})`);
      if (seen.size === 1) answers[name] = answer;
      else undetermined[name] = `the traffic shows ${counts.join(' and ')}`;
    }
    return { answers, undetermined };
  }

  /** The reply to another body under the same `request_id`. */
  #noteReplay(first: Exchange, other: Exchange): void {
    const isReplay =
      isMessageSend(other) && other.fields?.['request_id'] === first.fields?.['request_id'];
    if (isReplay && other.body !== first.body && hasRequestId(other))
      this.#noteAnswer('replayDifferentBody', replyToOtherBody[other.reply.status]);
  }

  /** The status of a message that is read while it is held. */
  #noteHeld(first: Exchange, read: Exchange): void {
    if (!isMessageSend(first) || !isRead(read) || read.reply.status !== 200) return;
    const heldUntil = holdEndOf(first) ?? 0;
    if (read.answeredAt < heldUntil - clockSlackMs)
      this.#noteAnswer('heldStatus', String(bodyOf(read)['status']));
  }

  #noteAnswer(name: AssumptionName, answer: string | undefined): void {
    if (answer === undefined || !answersOf(name).includes(answer)) return;
    const seen = getOrAdd(this.#answers, name, () => new Map<string, number>());
    seen.set(answer, (seen.get(answer) ?? 0) + 1);
  }

  #noteShape({ method, endpoint, reply }: Exchange): void {
    // A 400 may have a member for each field.
    if (endpoint === undefined || reply.status === 0 || reply.status === 400) return;
    const name = `${method} ${endpoint} ${reply.status}`;
    const shape = getOrAdd<string, Shape>(this.shapes, name, () => ({
      replies: 0,
      members: new Map(),
      last: undefined,
    }));
    shape.replies++;
    const type = reply.headers['content-type'] ?? 'none';
    if (shape.last === undefined || !isLike(shape.last, type, reply.json)) {
      const listed = new Set([`content-type ${type.split(';', 1)[0]}`]);
      addMembers(reply.json, '', 0, listed);
      shape.last = { type, json: reply.json, members: listed };
    }
    for (const member of shape.last.members) {
      const count = shape.members.get(member);
      if (count !== undefined || shape.members.size < mostMembers)
        shape.members.set(member, (count ?? 0) + 1);
    }
  }
}

/** True for another object with the same members of the same types, and without lists and objects. */
function isLike({ type, json }: Listed, otherType: string, other: unknown): boolean {
  if (type !== otherType || !isObject(json) || !isObject(other)) return false;
  let members = 0;
  for (const name in other) {
    if (typeof other[name] === 'object' || typeof other[name] !== typeof json[name]) return false;
    members += 1;
  }
  return members === Object.keys(json).length;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

/** Adds each member with its type, such as `results[].to string`; of a list, its first entry. */
function addMembers(value: unknown, path: string, depth: number, members: Set<string>): void {
  if (path !== '') members.add(`${path} ${typeOf(value)}`);
  if (depth > deepest || typeof value !== 'object') return;
  if (Array.isArray(value) && value[0] !== undefined)
    addMembers(value[0], `${path}[]`, depth + 1, members);
  if (isObject(value)) {
    for (const name in value)
      addMembers(value[name], path === '' ? name : `${path}.${name}`, depth + 1, members);
  }
}
