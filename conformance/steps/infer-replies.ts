/**
 * Infers the templates of the replies to reads and to other sends, for `--discover`. A reply in the
 * shape of the simulator's default needs no template, unless its headers differ.
 */
import { isObject, type Json, type ReplyTemplate } from '#contract/request-and-reply.ts';
import {
  headersOf,
  templateOf,
  templateOfList,
  undeterminedBy,
} from '#judging/discovery/discovered-templates.ts';
import { type Inferred, inferBody, type Sample } from '#judging/discovery/infer-template.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { messageFields } from '#judging/service/body.ts';
import * as verify from '#judging/service/expectations.ts';
import { type AccountUnderTest, paths, type Trial } from '../run/trial.ts';
import { inferReceived, inferStats } from './infer-reads.ts';

/** The template of the statistics, from the figures that change when a message is accepted. */
export async function templateOfStats(
  t: Trial,
  account: AccountUnderTest,
): Promise<Inferred | undefined> {
  const { client } = t.target;
  const sentBefore = client.sends;
  const before = await t.get(paths.stats, account.key);
  await t.mustSend(account);
  const after = await t.get(paths.stats, account.key);
  // Without a control port, other cases send from the same account meanwhile.
  const sentMeanwhile = client.sends - sentBefore;
  for (const reply of [before, after]) verify.given(() => verify.status(reply, 200));
  if (hasDefaultFigures(after)) return templateOfHeaders(after);
  if (before.json === undefined || after.json === undefined)
    return undeterminedBy('the statistics are not JSON');
  const undetermined: string[] = [];
  const part = { at: '', maxAccepted: sentMeanwhile, undetermined };
  const body = inferStats(before.json as Json, after.json as Json, part);
  const template = { ...headersIn(after), ...(body !== undefined && { body }) };
  return { template, undetermined };
}

/** True if the statistics have the members of the simulator's default. */
function hasDefaultFigures({ json }: Reply): boolean {
  if (!isObject(json)) return false;
  const { messages, quota } = json;
  return (
    hasFields(json, ['messages', 'quota', 'received', 'sims_connected']) &&
    hasFields(messages, ['delivered', 'failed', 'queued', 'sending', 'sent']) &&
    hasFields(quota, ['limit', 'used'])
  );
}

/** The members of an object; none for any other value. */
export function fieldsIn(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/** True for an object with exactly these fields, which are in alphabetical order. */
function hasFields(value: unknown, names: readonly string[]): boolean {
  return isObject(value) && Object.keys(value).toSorted().join() === names.join();
}

const receivedItem = ['device_id', 'from_number', 'message', 'message_id', 'received_at', 'to'];

export async function templateOfReceived(
  t: Trial,
  account: AccountUnderTest,
): Promise<Inferred | undefined> {
  if (t.hasControl) await receiveTwoMessages(t, account);
  const reply = await t.get(paths.received, account.key);
  verify.given(() => verify.status(reply, 200));
  const { json } = reply;
  const isPage = hasFields(json, ['count', 'next', 'previous', 'results']);
  const list = listIn(json);
  const [entry] = list;
  const hasDefaultItem = entry === undefined || hasFields(entry, receivedItem);
  if ((isPage || Array.isArray(json)) && hasDefaultItem) return templateOfHeaders(reply);
  const recipient = { number: account.from, deviceId: account.sims[0]?.deviceId };
  const item = hasDefaultItem ? undefined : inferReceived(list, recipient);
  return listTemplate(reply, ['next', 'previous'], item);
}

/** The list that a reply is or contains. */
function listIn(json: unknown): readonly unknown[] {
  if (Array.isArray(json)) return json;
  return isObject(json) ? (Object.values(json).find(Array.isArray) ?? []) : [];
}

/** Two messages, because what differs between their entries shows what the members are. */
async function receiveTwoMessages(
  t: Trial,
  { accountId = '', from }: AccountUnderTest,
): Promise<void> {
  for (const message of ['first', 'second']) {
    await t.control.port.must('sims.receive', {
      id: accountId,
      input: { to: from, from: t.control.unusedNumber(), message },
    });
  }
}

export async function templateOfTasks(
  t: Trial,
  account: AccountUnderTest,
): Promise<Inferred | undefined> {
  if (account.sims.length === 0) return undefined;
  const fields = t.fields(account, { request_id: t.requestId() });
  const accepted = await t.post(paths.send, account.key, fields);
  const reply = await t.poll(account);
  verify.given(() => verify.status(reply, 200));
  const { json } = reply;
  const list = listIn(json);
  const message = fieldsIn(accepted.json);
  const id = String(message['message_id']);
  const entry = list.find((task) => JSON.stringify(task).includes(id));
  if (entry === undefined && list.length > 0)
    return undeterminedBy('its tasks contain no message id');
  const hasDefaultItem =
    entry === undefined || hasFields(entry, ['from_number', 'message', 'message_id', 'to']);
  const hasDefaultList = Array.isArray(json) || hasFields(json, ['tasks']);
  if (hasDefaultList && hasDefaultItem) return templateOfHeaders(reply);
  const { status: _, ...others } = message;
  const values = valuesIn({ ...others, message: fields['message'] });
  const item = hasDefaultItem
    ? undefined
    : inferBody([{ reply: { ...reply, json: entry }, values }]);
  return listTemplate(reply, [], item);
}

function listTemplate(
  reply: Reply,
  links: readonly string[],
  item: Inferred | undefined,
): Inferred {
  const { template, undetermined } = templateOfList({ reply, values: {} }, links, item);
  const isFound = Object.keys(template).length > 0;
  return { template: isFound ? { ...headersIn(reply), ...template } : {}, undetermined };
}

/** A reply in the simulator's default shape needs a template only if its headers differ. */
export function templateOfHeaders(reply: Reply): Inferred | undefined {
  const template = headersIn(reply);
  return template.headers === undefined ? undefined : { template, undetermined: [] };
}

function headersIn(reply: Sample['reply']): Pick<ReplyTemplate, 'headers'> {
  const headers = headersOf([{ reply, values: {} }]);
  return headers === undefined ? {} : { headers };
}

/** The template of a send's reply, if that is not the Message body of the document. */
export async function templateOfOtherSend(
  t: Trial,
  account: AccountUnderTest,
  name: 'dashboard_send' | 'external_send',
): Promise<Inferred | undefined> {
  const reply = await t.post(paths[name], account.key, t.fields(account));
  if (reply.status < 200 || reply.status > 299 || !isObject(reply.json)) return undefined;
  const { json } = reply;
  if (hasFields(json, messageFields) && reply.status === 202) return templateOfHeaders(reply);
  const id = String(json['message_id'] ?? json['id'] ?? '');
  const read = await t.read(account, id);
  if (read.status !== 200 || !isObject(read.json))
    return undeterminedBy('its reply contains no id of a readable message');
  return templateOf([{ reply, values: valuesIn(read.json) }], { status: 202, bodies: [] });
}

/** Leaves out empty texts, because they occur in every text. */
function valuesIn(fields: Readonly<Record<string, unknown>>): Sample['values'] {
  const values: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'number' || (typeof value === 'string' && value !== ''))
      values[name] = value;
  return values;
}
