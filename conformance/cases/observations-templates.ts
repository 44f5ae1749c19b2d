/**
 * How a target words replies whose shape no other assumption names: each kind of reply is requested
 * once or twice and kept as a template. Observed, not judged.
 */

import type { ReplyTemplate } from '../../src/ledger/reply-template.ts';
import type { Observation, Seen } from '../case.ts';
import type { Reply } from '../client.ts';
import {
  headersOf,
  type OwnHeaders,
  shapeOf,
  templateOfInvalid,
  templateOfList,
  templateOfOthers,
  templateOfRefusal,
} from '../discovered-templates.ts';
import { floodOf } from '../floods.ts';
import { figures, inferReceived } from '../infer-received.ts';
import { type Inferred, inferBody, type Sample } from '../infer-template.ts';
import { recorded } from '../recording.ts';
import type { Refusal } from '../simulator-replies.ts';
import { type Fields, paths, type Subject, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';

const required: readonly string[] = ['to', 'from', 'message'];
const unknownIds = ['7d3c8f7e-93a5-4c8e-8a47-2f1d7c1b5e10', '0c2f7a51-5b0e-4f0b-9c1a-66d3a9e0f7b2'];

/** The templates found so far, by kind. */
class Findings {
  readonly templates: Record<string, ReplyTemplate> = {};
  readonly undetermined: Record<string, string> = {};
  readonly refusals: (readonly [Refusal, ReplyTemplate])[] = [];

  add(name: string, found: Inferred | undefined): void {
    if (found === undefined) return;
    if (Object.keys(found.template).length > 0) this.templates[name] = found.template;
    if (found.undetermined.length > 0) this.undetermined[name] = found.undetermined.join('; ');
  }

  /** Removes a special template that equals the more general one. */
  dropRepeated(general: string, special: readonly string[]): void {
    const text = JSON.stringify(this.templates[general]);
    for (const name of special)
      if (JSON.stringify(this.templates[name]) === text) delete this.templates[name];
  }

  seen(): Seen {
    return { answer: this.templates, parts: this.undetermined };
  }
}

export const templateObservations: readonly Observation[] = [
  {
    assumption: 'replyTemplates',
    name: 'of-refusals',
    needs: ['sender', 'discover'],
    cost: { sends: 23 },
    spends: { send: 23, received: 1, tasks: 2 },
    sends: 'a request for each kind of refusal',
    run: async (t) => {
      const account = await t.account();
      const found = new Findings();
      const sample = (reply: Reply, more: Sample['values'] = {}): Sample => ({
        reply,
        values: { ...placeOf(reply), ...more },
      });
      const shape = await invalidFields(t, account, found, sample);
      const refusals = await refusalsOf(t, account, sample);
      for (const { kind, name = kind, samples, status, own } of refusals) {
        const its = samples.filter(({ reply }) => status.includes(reply.status));
        const template = templateOfRefusal(kind, its, shape, own);
        found.add(name, template);
        if (its.length > 0 && name === kind) found.refusals.push([kind, inferBody(its).template]);
      }
      found.dropRepeated('not_found', ['path_not_found', 'device_not_found']);
      found.dropRepeated('malformed_json', ['not_an_object', 'empty_body']);
      const general = templateOfOthers(found.refusals, shape);
      if (general !== undefined)
        found.templates['error'] = { ...general, ...sharedHeaders(refusals) };
      found.add('redirect', await redirectOf(t, account, sample));
      return found.seen();
    },
  },
  {
    assumption: 'replyTemplates',
    name: 'of-figures-and-lists',
    needs: ['sender', 'discover'],
    cost: { sends: 4 },
    spends: { send: 2, dashboard_send: 1, external_send: 1, received: 1, tasks: 1 },
    sends: 'a message, and requests for statistics, lists and tasks before and after it',
    run: async (t) => {
      const account = await t.account();
      const found = new Findings();
      found.add('stats', await statsOf(t, account));
      found.add('received', await receivedOf(t, account));
      // A simulator's SIM that polls by itself gets no tasks over HTTP.
      const polled = t.controlled ? await t.account({ sim: { polling: 'external' } }) : account;
      found.add('tasks', await tasksOf(t, polled));
      const { reply } = await t.queued(account);
      const headers = headersOf([{ reply, values: {} }], {});
      if (headers !== undefined) found.templates['message'] = { headers };
      for (const name of ['dashboard_send', 'external_send'] as const)
        found.add(name, await otherSend(t, account, name));
      return found.seen();
    },
  },
  {
    assumption: 'replyTemplates',
    name: 'of-a-429',
    needs: ['key', 'discover'],
    alone: true,
    cost: {},
    recordings: [floodOf.received],
    sends: 'requests for received messages until one is refused',
    run: async (t) => throttledSeen((await recorded(t, floodOf.received)).refusals),
  },
];

type MakeSample = (reply: Reply, more?: Sample['values']) => Sample;

function placeOf({ exchange }: Reply): Sample['values'] {
  return { path: new URL(exchange.url).pathname, method: exchange.method };
}

async function invalidFields(t: Trial, account: Subject, found: Findings, sample: MakeSample) {
  const to = await t.send(account, { to: 'x' });
  // Not `message`: many bodies contain a member with that name.
  const time = await t.send(account, { send_at: 'x' });
  const both = await t.send(account, { to: 'x', send_at: 'x' });
  verify.given(() => {
    for (const reply of [to, time, both]) verify.status(reply, 400);
  });
  const samples = [sample(to, { field: 'to' }), sample(time, { field: 'send_at' })];
  found.add('invalid_field', templateOfInvalid(samples, sample(both)));
  const fields = await orderOfFields(t, account);
  if (fields !== undefined)
    found.templates['invalid_field'] = { ...found.templates['invalid_field'], fields };
  return shapeOf(inferBody(samples).template.body);
}

const allWrong: Fields = { to: 'x', from: 'x', message: '', request_id: {}, send_at: 'x' };

/** The order in which failing fields are named, if it is not that of the document's table. */
async function orderOfFields(t: Trial, account: Subject): Promise<string[] | undefined> {
  const wrong = { ...allWrong };
  const order: string[] = [];
  for (let left = Object.keys(wrong); left.length > 0; left = Object.keys(wrong)) {
    const { status, text } = await t.send(account, wrong);
    // A field is a text, the last part of a pointer, or a member that holds no text.
    const names = text.match(/(?<=["/.])(to|from|message|request_id|send_at)(?="(?!:"))/g) ?? [];
    const named = [...new Set(names)].filter((name) => left.includes(name));
    if (status !== 400 || named.length === 0) return undefined;
    order.push(...named);
    for (const name of named) delete wrong[name];
  }
  return order.join() === Object.keys(allWrong).join() ? undefined : order;
}

interface Asked {
  readonly kind: Refusal;
  /** The template's name, if it differs from the kind. */
  readonly name?: string;
  /** The statuses that make a reply this kind. */
  readonly status: readonly number[];
  readonly samples: readonly Sample[];
  readonly own?: OwnHeaders;
}

async function refusalsOf(t: Trial, account: Subject, sample: MakeSample): Promise<Asked[]> {
  const { key } = account;
  const asked: Asked[] = [];
  const ask = async (
    kind: Refusal,
    status: readonly number[],
    replies: readonly (readonly [Promise<Reply>, Sample['values']?])[],
    more: Partial<Asked> = {},
  ) => {
    const samples: Sample[] = [];
    for (const [reply, values] of replies) samples.push(sample(await reply, values));
    asked.push({ kind, status, samples, ...more });
  };
  await ask(
    'invalid_key',
    [401],
    [[t.get(paths.stats, undefined)], [t.get(paths.read(unknownIds[0] ?? ''), 'no-such-key')]],
    { own: { 'www-authenticate': 'Bearer' } },
  );
  const ids = unknownIds.map((id) => [t.read(account, id)] as const);
  await ask('not_found', [404], ids);
  await ask(
    'not_found',
    [404],
    [[t.get('/api/v1/sms-conformance/', key)], [t.get('/conformance/none/', key)]],
    { name: 'path_not_found' },
  );
  const devices = unknownIds.map((id) => [t.get(paths.tasks(id), key)] as const);
  await ask('not_found', [404], devices, { name: 'device_not_found' });
  const method = (name: string, path: string): Promise<Reply> =>
    t.request({ method: name, path, headers: { authorization: `Bearer ${key}` } });
  const head = await method('HEAD', paths.stats);
  await ask(
    'method_not_allowed',
    [405, 400, 501],
    [
      [
        method('DELETE', paths.stats),
        { allow: head.status === 200 ? 'GET, HEAD' : 'GET', allowed_method: 'GET' },
      ],
      [method('GET', paths.send), { allow: 'POST', allowed_method: 'POST' }],
    ],
    { own: { allow: '{allow}' } },
  );
  const typed = (headers: Readonly<Record<string, string>>) =>
    t.request({
      method: 'POST',
      path: paths.send,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(t.fields(account)),
    });
  await ask('unsupported_media_type', [415, 400, 406], [[typed({ 'content-type': 'text/csv' })]]);
  await ask(
    'malformed_json',
    [400, 422],
    [[t.post(paths.send, key, '{')], [t.post(paths.send, key, '{"to":')]],
  );
  await ask('not_an_object', [400, 422], [[t.post(paths.send, key, '[]')]]);
  const nothing = await t.post(paths.send, key, '');
  // The reply names fields, so the target read the empty body as an object without fields
  // (`emptyBody`).
  const isRead = verify.fieldsNamed(nothing).some((name) => required.includes(name));
  if (!isRead) await ask('empty_body', [400, 422], [[Promise.resolve(nothing)]]);
  const request_id = t.requestId();
  await t.queued(account, { request_id });
  await ask(
    'request_id_conflict',
    [409, 422, 400],
    [[t.send(account, { request_id, message: 'another text' })]],
  );
  await senders(t, account, ask);
  return asked;
}

/** The content type for refusals that were not seen. */
function sharedHeaders(refusals: readonly Asked[]): Pick<ReplyTemplate, 'headers'> {
  const [first] = refusals.find(({ kind }) => kind === 'number_not_found')?.samples ?? [];
  return first === undefined ? {} : headersIn(first.reply);
}

/** Refusals that need a certain number or account. */
async function senders(
  t: Trial,
  account: Subject,
  ask: (
    kind: Refusal,
    status: readonly number[],
    replies: readonly (readonly [Promise<Reply>])[],
  ) => Promise<void>,
): Promise<void> {
  const { flags } = t.target;
  const unknown = flags.unknownFrom ?? (t.controlled ? t.control.unusedNumber() : undefined);
  if (unknown !== undefined)
    await ask('number_not_found', [403], [[t.send(account, { from: unknown })]]);
  const foreign = t.controlled ? (await t.account()).from : flags.foreignFrom;
  if (foreign !== undefined) {
    const reply = await t.send(account, { from: foreign });
    const isUnknown = verify.codeOf(reply) === 'from_number_not_found';
    if (!isUnknown) await ask('number_access_denied', [403], [[Promise.resolve(reply)]]);
  }
  const exhausted = t.controlled
    ? await t.account({ quota: 0 })
    : flags.exhaustedApiKey === undefined
      ? undefined
      : { key: flags.exhaustedApiKey, from: flags.exhaustedFrom ?? account.from, sims: [] };
  if (exhausted !== undefined) await ask('quota_exceeded', [402], [[t.send(exhausted)]]);
  const inactive = t.controlled
    ? await t.account({ sim: { active: false } })
    : { ...account, from: flags.inactiveFrom };
  if (inactive.from !== undefined)
    await ask(
      'device_inactive',
      [503],
      [[t.post(paths.send, inactive.key, t.fields(account, { from: inactive.from }))]],
    );
}

async function redirectOf(t: Trial, { key }: Subject, sample: MakeSample) {
  const reply = await t.get(paths.stats.replace(/\/$/, ''), key);
  if (reply.status < 300 || reply.status > 399) return undefined;
  const its = sample(reply, { location: paths.stats });
  const headers = headersOf([its], { location: '{location}' });
  const { template, undetermined } = inferBody([its]);
  const isOwn = reply.status === 301 && reply.text === '{}' && headers === undefined;
  if (isOwn) return undefined;
  const status = reply.status === 301 ? {} : { status: reply.status };
  return { template: { ...status, ...(headers && { headers }), ...template }, undetermined };
}

/** Statistics: which figures change when a message is accepted. */
async function statsOf(t: Trial, account: Subject): Promise<Inferred | undefined> {
  const { client } = t.target;
  const sentBefore = client.sends;
  const before = await t.get(paths.stats, account.key);
  await t.queued(account);
  const after = await t.get(paths.stats, account.key);
  // Without a control port, other cases send from the same account meanwhile.
  const most = client.sends - sentBefore;
  verify.given(() => verify.status(after, 200));
  if (hasOwnFigures(after)) return ownWith(after);
  if (before.json === undefined || after.json === undefined)
    return { template: {}, undetermined: ['the statistics are not JSON'] };
  const undetermined: string[] = [];
  const body = figures(before.json, after.json, { at: '', most, undetermined });
  return { template: { ...headersIn(after), body: body as never }, undetermined };
}

const statsNames = ['messages', 'quota', 'received', 'sims_connected'];

export function hasOwnFigures({ json }: Reply): boolean {
  if (!verify.isObject(json)) return false;
  const { messages, quota } = json;
  return (
    Object.keys(json).toSorted().join() === statsNames.join() &&
    verify.isObject(messages) &&
    Object.keys(messages).toSorted().join() === 'delivered,failed,queued,sending,sent' &&
    verify.isObject(quota) &&
    Object.keys(quota).toSorted().join() === 'limit,used'
  );
}

const receivedNames = ['count', 'next', 'previous', 'results'];
const receivedItem = ['device_id', 'from_number', 'message', 'message_id', 'received_at', 'to'];

async function receivedOf(t: Trial, account: Subject): Promise<Inferred | undefined> {
  if (t.controlled) await receiveTwo(t, account);
  const reply = await t.get(paths.received, account.key);
  verify.given(() => verify.status(reply, 200));
  const { json } = reply;
  const isPage =
    verify.isObject(json) && Object.keys(json).toSorted().join() === receivedNames.join();
  const list = listIn(json);
  const [entry] = list;
  const isOwnItem =
    entry === undefined ||
    (verify.isObject(entry) && Object.keys(entry).toSorted().join() === receivedItem.join());
  if ((isPage || Array.isArray(json)) && isOwnItem) return ownWith(reply);
  const recipient = { number: account.from, deviceId: account.sims[0]?.deviceId };
  const item = isOwnItem ? undefined : inferReceived(list, recipient);
  const found = templateOfList({ reply, values: {} }, ['next', 'previous'], item);
  if (typeof found.undetermined === 'string')
    return { template: {}, undetermined: [found.undetermined] };
  const { template, undetermined } = found as Inferred;
  return { template: { ...headersIn(reply), ...template }, undetermined };
}

/** The list that a reply is or contains. */
function listIn(json: unknown): readonly unknown[] {
  if (Array.isArray(json)) return json;
  return verify.isObject(json) ? (Object.values(json).find(Array.isArray) ?? []) : [];
}

/** Two, because what differs between two entries identifies their members. */
async function receiveTwo(t: Trial, { accountId = '', from }: Subject): Promise<void> {
  for (const message of ['first', 'second'])
    await t.control.must('sims.receive', {
      id: accountId,
      input: { to: from, from: t.control.unusedNumber(), message },
    });
}

async function tasksOf(t: Trial, account: Subject): Promise<Inferred | undefined> {
  const [sim] = account.sims;
  if (sim === undefined) return undefined;
  const fields = t.fields(account, { request_id: t.requestId() });
  const accepted = await t.post(paths.send, account.key, fields);
  const reply = await t.get(paths.tasks(sim.deviceId), account.key);
  verify.given(() => verify.status(reply, 200));
  const { json } = reply;
  const list = listIn(json);
  const id = String(Object(accepted.json)['message_id']);
  const entry = list.find((one) => JSON.stringify(one).includes(id));
  if (entry === undefined && list.length > 0)
    return { template: {}, undetermined: ['its tasks contain no message id'] };
  const names = Object.keys(Object(entry)).toSorted().join();
  const isOwnItem = entry === undefined || names === 'from_number,message,message_id,to';
  const isOwn =
    Array.isArray(json) || (verify.isObject(json) && Object.keys(json).join() === 'tasks');
  if (isOwn && isOwnItem) return ownWith(reply);
  const message = verify.isObject(accepted.json) ? accepted.json : {};
  const values = Object.fromEntries(
    Object.entries({ ...message, message: fields['message'] }).filter(
      ([name, value]) => name !== 'status' && value !== '',
    ),
  ) as Sample['values'];
  const item = isOwnItem ? undefined : inferBody([{ reply: { ...reply, json: entry }, values }]);
  const found = templateOfList({ reply, values: {} }, [], item);
  if (typeof found.undetermined === 'string')
    return { template: {}, undetermined: [found.undetermined] };
  const { template, undetermined } = found as Inferred;
  return { template: { ...headersIn(reply), ...template }, undetermined };
}

/** A reply in the simulator's own shape: needs a template only if its headers differ. */
function ownWith(reply: Reply): Inferred | undefined {
  const template = headersIn(reply);
  return template.headers === undefined ? undefined : { template, undetermined: [] };
}

function headersIn(reply: Sample['reply']): Pick<ReplyTemplate, 'headers'> {
  const headers = headersOf([{ reply, values: {} }], {});
  return headers === undefined ? {} : { headers };
}

async function otherSend(
  t: Trial,
  account: Subject,
  name: 'dashboard_send' | 'external_send',
): Promise<Inferred | undefined> {
  const reply = await t.post(paths[name], account.key, t.fields(account));
  if (reply.status < 200 || reply.status > 299 || !verify.isObject(reply.json)) return undefined;
  const { json } = reply;
  const seven = 'created_at,device_id,from_number,message_id,request_id,status,to';
  const headers = headersOf([{ reply, values: {} }], {});
  const isOwn = Object.keys(json).toSorted().join() === seven && reply.status === 202;
  if (isOwn) return headers === undefined ? undefined : { template: { headers }, undetermined: [] };
  const id = String(json['message_id'] ?? json['id'] ?? '');
  const read = await t.read(account, id);
  if (read.status !== 200 || !verify.isObject(read.json))
    return { template: {}, undetermined: ['its reply contains no id of a readable message'] };
  const values = Object.fromEntries(
    Object.entries(read.json).filter(([, value]) => value !== ''),
  ) as Sample['values'];
  const { template, undetermined } = inferBody([{ reply, values }]);
  const status = reply.status === 202 ? {} : { status: reply.status };
  return { template: { ...status, ...(headers && { headers }), ...template }, undetermined };
}

/**
 * ERR-4: `detail` states the wait. A template is needed only if the body has more, or if headers
 * differ.
 */
function throttledSeen(refusals: readonly Reply[]): Seen {
  // A wait of one second is worded in the singular.
  const plural = refusals.filter(({ headers }) => headers['retry-after'] !== '1');
  const alike = plural.length > 0 ? plural : refusals;
  const samples = alike.slice(0, 3).map((reply) => ({
    reply,
    values: { ...placeOf(reply), retry_after: Number(reply.headers['retry-after']) },
  }));
  if (samples.length === 0) return { undetermined: 'no 429 was seen' };
  const { template, undetermined } = inferBody(samples);
  const headers = headersOf(samples, {});
  const own = 'Request was throttled. Expected available in {retry_after} seconds.';
  const body = JSON.stringify(template.body);
  if (!String(Object(template.body)['detail']).includes('{retry_after}'))
    return { undetermined: 'its detail does not state the wait of Retry-After' };
  const isOwn = body === JSON.stringify({ detail: own });
  const isOne = body === JSON.stringify({ detail: own.replace('seconds', 'second') });
  if ((isOwn || isOne) && headers === undefined) return { answer: {} };
  return {
    answer: { throttled: { ...(headers && { headers }), ...(!isOwn && template) } },
    parts: undetermined.length === 0 ? {} : { throttled: undetermined.join('; ') },
  };
}
