/**
 * Judges every Message body that the run receives, whichever case asked for it: some malformed
 * values appear in one reply out of ten. Keeps the first violation of each rule.
 * Rules: RES-1 to RES-5. Judges `POST /api/v1/sms/send/` and reads of a message only: the shapes of
 * the other sends are open (`dashboardSendShape`, `externalSendShape`).
 */
import { endpointOf } from './buckets.ts';
import type { Reply, RequestOptions } from './client.ts';
import * as verify from './verify.ts';

export const sevenFields = [
  'created_at',
  'device_id',
  'from_number',
  'message_id',
  'request_id',
  'status',
  'to',
].join(', ');

export const states = ['queued', 'sending', 'sent', 'delivered', 'failed'];

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const e164 = /^\+[1-9]\d{1,14}$/;
const utcMilliseconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const readPath = /^\/api\/v1\/sms\/(?!send\/|received\/)[^/?]+\/$/;

type Body = Readonly<Record<string, unknown>>;

/** Requires `created_at` to be ISO 8601 UTC with milliseconds, and a time that exists. */
export function wellFormedTime(where: string, { created_at: value }: Body): void {
  const isTime = utcMilliseconds.test(String(value)) && !Number.isNaN(Date.parse(String(value)));
  verify.that(isTime, `created_at of ${where} as YYYY-MM-DDTHH:MM:SS.mmmZ`, verify.show(value));
}

export function sevenNames(where: string, body: Body): void {
  verify.equal(`field names of ${where}`, Object.keys(body).sort().join(', '), sevenFields);
}

export function idsAndNumbers(where: string, body: Body): void {
  const fits = (name: string, form: RegExp, what: string) =>
    verify.that(
      form.test(String(body[name])),
      `${what} as ${name} of ${where}`,
      verify.show(body[name]),
    );
  for (const name of ['message_id', 'device_id']) fits(name, uuid, 'a UUID');
  for (const name of ['from_number', 'to']) fits(name, e164, 'an E.164 number');
}

export function knownStatus(where: string, { status }: Body): void {
  verify.that(
    states.includes(String(status)),
    `one of ${states.join(', ')} as status of ${where}`,
    verify.show(status),
  );
}

type Judged = 'RES-1' | 'RES-2' | 'RES-3' | 'RES-4' | 'RES-5';

/** What a body is judged with: the fields of its send, if this was a send. */
interface Facts {
  readonly isNew: boolean;
  readonly hasControl: boolean;
  readonly fields: Body | undefined;
  /** The message's first body in this run, without `send_at`. */
  readonly first: Body | undefined;
}

const judges: Readonly<Record<Judged, (where: string, body: Body, facts: Facts) => void>> = {
  'RES-1': sevenNames,
  'RES-2': (where, body, { isNew, hasControl, fields = {} }) => {
    idsAndNumbers(where, body);
    // Cases with a control port disconnect SIMs, and the pool may send in their place (`disconnectedSim`).
    if (!isNew || hasControl) return;
    if (e164.test(String(fields['to']))) verify.equal(`to of ${where}`, body['to'], fields['to']);
    const { from, from_number: alias } = fields;
    // Both together may mean either one (`bothSenderFields`).
    if (typeof (from ?? alias) === 'string' && (from === undefined || alias === undefined))
      verify.equal(`from_number of ${where}`, body['from_number'], from ?? alias);
  },
  'RES-3': (where, body, { fields, first }) => {
    const { request_id: id = '' } = fields ?? first ?? body;
    if (typeof id === 'string' && isWellFormed(id))
      verify.equal(`request_id of ${where}`, body['request_id'], id);
  },
  'RES-4': (where, body, { first }) => {
    wellFormedTime(where, body);
    if (first !== undefined)
      verify.equal(`created_at of ${where}`, body['created_at'], first['created_at']);
  },
  'RES-5': (where, body, { first }) => {
    // The status of a held message has an open name (`heldStatus`).
    if (first !== undefined) knownStatus(where, body);
  },
};

export const rulesOfBodies = Object.keys(judges) as Judged[];

export class SeenBodies {
  readonly #hasControl: boolean;
  readonly #broken = new Map<Judged, unknown>();
  /** The first body of each message that is not held. */
  readonly #first = new Map<string, Body>();
  count = 0;

  constructor(hasControl: boolean) {
    this.#hasControl = hasControl;
  }

  note({ method, path, body: sent }: RequestOptions, reply: Reply): void {
    const isSend = method === 'POST' && endpointOf(path) === 'send';
    const isRead = method === 'GET' && readPath.test(path);
    const isMessage =
      (isSend && (reply.status === 202 || reply.status === 200)) ||
      (isRead && reply.status === 200);
    if (!isMessage || !verify.isObject(reply.json)) return;
    const body = reply.json;
    const fields = isSend ? objectIn(sent) : undefined;
    const id = String(body['message_id']);
    const isNew = reply.status === 202;
    if (isNew && fields?.['send_at'] === undefined && !this.#first.has(id))
      this.#first.set(id, body);
    const where = isRead ? 'a read' : isNew ? 'a 202' : 'a replay';
    const facts = { isNew, hasControl: this.#hasControl, fields, first: this.#first.get(id) };
    this.count += 1;
    for (const rule of rulesOfBodies) {
      if (this.#broken.has(rule)) continue;
      try {
        judges[rule](where, body, facts);
      } catch (error) {
        this.#broken.set(rule, withExchange(error, reply));
      }
    }
  }

  /** Throws the first violation of the rule. */
  judge(rule: Judged): void {
    if (this.#broken.has(rule)) throw this.#broken.get(rule);
  }
}

function withExchange(error: unknown, { exchange }: Reply): unknown {
  if (!(error instanceof verify.RuleBroken)) return error;
  return new verify.RuleBroken(error.expected, error.actual, exchange);
}

function objectIn(text: string | undefined): Body | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return verify.isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** False for halves of surrogate pairs, which UTF-8 cannot carry. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
