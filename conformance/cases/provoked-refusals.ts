/**
 * Provokes refusals of each kind that the target's flags allow, once or twice each: the replies are
 * the samples from which their templates are inferred.
 */
import {
  type OwnHeaders,
  type Refusal,
  shapeOf,
  templateOf,
  templateOfInvalid,
} from '#judging/discovery/discovered-templates.ts';
import { type Inferred, inferBody, type Sample } from '#judging/discovery/infer-template.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import * as verify from '#judging/service/expectations.ts';
import { namesField } from '#judging/service/named-fields.ts';
import { type AccountUnderTest, type Fields, paths, type Trial } from '../run/trial.ts';

export interface ProvokedRefusal {
  readonly kind: Refusal;
  /** The template's name, if it differs from the kind. */
  readonly name?: string;
  /** The statuses that make a reply this kind. */
  readonly statuses: readonly number[];
  readonly samples: readonly Sample[];
  /** The headers that the simulator itself gives this kind. */
  readonly own?: OwnHeaders;
}

/** A reply to come, and the values of placeholders that it may contain. */
type Provoked = readonly [Promise<Reply>, Sample['values']?];

const requiredFields: readonly string[] = ['to', 'from', 'message'];
const unknownIds = ['7d3c8f7e-93a5-4c8e-8a47-2f1d7c1b5e10', '0c2f7a51-5b0e-4f0b-9c1a-66d3a9e0f7b2'];

export async function* provokeRefusals(
  t: Trial,
  account: AccountUnderTest,
): AsyncGenerator<ProvokedRefusal> {
  yield* unknownIdsAndKeys(t, account);
  yield* wrongMethods(t, account);
  yield* wrongBodies(t, account);
  yield* reusedRequestId(t, account);
  yield* wrongSenders(t, account);
  yield* wrongAccounts(t, account);
}

/** A sample of the reply: with the path and the method of its request, and these values. */
export function sampleOf(reply: Reply, values: Sample['values'] = {}): Sample {
  const { url, method } = reply.exchange;
  return { reply, values: { path: new URL(url).pathname, method, ...values } };
}

async function collectSamples(
  kind: Refusal,
  statuses: readonly number[],
  replies: readonly Provoked[],
  more: Pick<ProvokedRefusal, 'name' | 'own'> = {},
): Promise<ProvokedRefusal> {
  const samples: Sample[] = [];
  for (const [reply, values] of replies) samples.push(sampleOf(await reply, values));
  return { kind, statuses, samples, ...more };
}

async function* unknownIdsAndKeys(t: Trial, account: AccountUnderTest) {
  const { key } = account;
  const keyless = t.get(paths.stats, undefined);
  const wrongKey = t.get(paths.read(unknownIds[0] ?? ''), 'no-such-key');
  const own = { 'www-authenticate': 'Bearer' };
  yield collectSamples('invalid_key', [401], [[keyless], [wrongKey]], { own });
  const messages = unknownIds.map((id): Provoked => [t.read(account, id)]);
  yield collectSamples('not_found', [404], messages);
  const unknownPaths = ['/api/v1/sms-conformance/', '/conformance/none/'];
  const atPaths = unknownPaths.map((path): Provoked => [t.get(path, key)]);
  yield collectSamples('not_found', [404], atPaths, { name: 'path_not_found' });
  const devices = unknownIds.map((id): Provoked => [t.get(paths.tasks(id), key)]);
  yield collectSamples('not_found', [404], devices, { name: 'device_not_found' });
}

async function* wrongMethods(t: Trial, { key }: AccountUnderTest) {
  const call = (method: string, path: string): Promise<Reply> =>
    t.request({ method, path, headers: { authorization: `Bearer ${key}` } });
  const head = await call('HEAD', paths.stats);
  const allow = head.status === 200 ? 'GET, HEAD' : 'GET';
  yield collectSamples(
    'method_not_allowed',
    [405, 400, 501],
    [
      [call('DELETE', paths.stats), { allow, allowed_method: 'GET' }],
      [call('GET', paths.send), { allow: 'POST', allowed_method: 'POST' }],
    ],
    { own: { allow: '{allow}' } },
  );
}

async function* wrongBodies(t: Trial, account: AccountUnderTest) {
  const { key } = account;
  const csv = t.request({
    method: 'POST',
    path: paths.send,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
    body: JSON.stringify(t.fields(account)),
  });
  yield collectSamples('unsupported_media_type', [415, 400, 406], [[csv]]);
  const malformed = ['{', '{"to":'].map((body): Provoked => [t.post(paths.send, key, body)]);
  yield collectSamples('malformed_json', [400, 422], malformed);
  yield collectSamples('not_an_object', [400, 422], [[t.post(paths.send, key, '[]')]]);
  const empty = t.post(paths.send, key, '');
  // If the reply names fields, the empty body counts as an object without fields (`emptyBody`).
  const { json } = await empty;
  const isRead = requiredFields.some((name) => namesField(json, name));
  if (!isRead) yield collectSamples('empty_body', [400, 422], [[empty]]);
}

async function* reusedRequestId(t: Trial, account: AccountUnderTest) {
  const request_id = t.requestId();
  await t.mustSend(account, { request_id });
  const reuse = t.send(account, { request_id, message: 'another text' });
  yield collectSamples('request_id_conflict', [409, 422, 400], [[reuse]]);
}

async function* wrongSenders(t: Trial, account: AccountUnderTest) {
  const { flags } = t.target;
  const unknown = flags.unknownFrom ?? (t.hasControl ? t.control.unusedNumber() : undefined);
  if (unknown !== undefined)
    yield collectSamples('number_not_found', [403], [[t.send(account, { from: unknown })]]);
  const foreign = t.hasControl ? (await t.account()).from : flags.foreignFrom;
  if (foreign === undefined) return;
  const denied = t.send(account, { from: foreign });
  const isUnknown = verify.codeOf(await denied) === 'from_number_not_found';
  if (!isUnknown) yield collectSamples('number_access_denied', [403], [[denied]]);
}

async function* wrongAccounts(t: Trial, account: AccountUnderTest) {
  const exhausted = await t.exhaustedAccount(account.from);
  if (exhausted !== undefined) yield collectSamples('quota_exceeded', [402], [[t.send(exhausted)]]);
  const inactive = t.hasControl
    ? await t.account({ sim: { active: false } })
    : { ...account, from: t.target.flags.inactiveFrom };
  if (inactive.from === undefined) return;
  const fields = t.fields(account, { from: inactive.from });
  yield collectSamples('device_inactive', [503], [[t.post(paths.send, inactive.key, fields)]]);
}

/** The template of a 400 that names fields, and the shape that other refusals may share. */
export async function invalidFieldOf(t: Trial, account: AccountUnderTest) {
  const to = await t.send(account, { to: 'x' });
  // Not `message`: many bodies contain a member with that name.
  const time = await t.send(account, { send_at: 'x' });
  const both = await t.send(account, { to: 'x', send_at: 'x' });
  verify.given(() => {
    for (const reply of [to, time, both]) verify.status(reply, 400);
  });
  const samples = [sampleOf(to, { field: 'to' }), sampleOf(time, { field: 'send_at' })];
  const found = templateOfInvalid(samples, sampleOf(both));
  const fields = await orderOfFields(t, account);
  const inferred: Inferred = {
    template: { ...found?.template, ...(fields && { fields }) },
    undetermined: found?.undetermined ?? [],
  };
  return { inferred, shape: shapeOf(inferBody(samples).template.body) };
}

/** Wrong values for all fields, in the order of the document's table. */
const allWrong: Fields = { to: 'x', from: 'x', message: '', request_id: {}, send_at: 'x' };

/** The order in which failing fields are named, if it is not that of the document's table. */
async function orderOfFields(t: Trial, account: AccountUnderTest): Promise<string[] | undefined> {
  const wrong = { ...allWrong };
  const order: string[] = [];
  for (let remaining = Object.keys(wrong); remaining.length > 0; remaining = Object.keys(wrong)) {
    const { status, text } = await t.send(account, wrong);
    // A field is a text, the last part of a pointer, or a member that holds no text.
    const names = text.match(/(?<=["/.])(to|from|message|request_id|send_at)(?="(?!:"))/g) ?? [];
    const named = [...new Set(names)].filter((name) => remaining.includes(name));
    if (status !== 400 || named.length === 0) return undefined;
    order.push(...named);
    for (const name of named) delete wrong[name];
  }
  return order.join() === Object.keys(allWrong).join() ? undefined : order;
}

/** The template of a redirect to the path with a slash; undefined if the target sends none. */
export async function redirectOf(
  t: Trial,
  { key }: AccountUnderTest,
): Promise<Inferred | undefined> {
  const reply = await t.get(paths.stats.replace(/\/$/, ''), key);
  if (reply.status < 300 || reply.status > 399) return undefined;
  const samples = [sampleOf(reply, { location: paths.stats })];
  const headers = { location: '{location}' };
  return templateOf(samples, { status: 301, bodies: [{}], headers });
}
