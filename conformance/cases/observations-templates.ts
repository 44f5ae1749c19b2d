/**
 * Observations of how a target words its replies (`replyTemplates`): templates are inferred from
 * one or two samples of each kind of reply. A reply that has the shape of the simulator's default
 * needs no template.
 */
import type { ReplyTemplate } from '#contract/request-and-reply.ts';
import {
  headersOf,
  type Refusal,
  templateOf,
  templateOfList,
  templateOfOthers,
  templateOfRefusal,
  undeterminedBy,
} from '#judging/discovery/discovered-templates.ts';
import { type Inferred, inferBody, type Sample } from '#judging/discovery/infer-template.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { messageFields } from '#judging/service/body.ts';
import * as verify from '#judging/service/expectations.ts';
import { floodOf } from '../floods/floods.ts';
import { about, type Observation, type Seen } from '../run/case.ts';
import { recorded } from '../run/recording.ts';
import { type AccountUnderTest, paths, type Trial } from '../run/trial.ts';
import { inferReceived, inferStats } from '../steps/infer-reads.ts';
import { invalidFieldOf, provokeRefusals, redirectOf, sampleOf } from './provoked-refusals.ts';

/** The templates found so far, by kind. */
class FoundTemplates {
  readonly templates: Record<string, ReplyTemplate> = {};
  readonly undetermined: Record<string, string> = {};
  readonly bodiesOfRefusals: (readonly [Refusal, ReplyTemplate])[] = [];

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
  about('replyTemplates/of-refusals', ['sender', 'discover'], 23, {
    spends: { received: 1, tasks: 2 },
    sends: 'a request for each kind of refusal',
    run: async (t, account) => {
      const found = new FoundTemplates();
      const { inferred, shape } = await invalidFieldOf(t, account);
      found.add('invalid_field', inferred);
      let headers: ReplyTemplate['headers'];
      for await (const refusal of provokeRefusals(t, account)) {
        const { kind, name = kind, samples, statuses, own } = refusal;
        if (kind === 'number_not_found') headers = headersOf(samples);
        const ofKind = samples.filter(({ reply }) => statuses.includes(reply.status));
        found.add(name, templateOfRefusal(kind, ofKind, shape, own));
        if (ofKind.length > 0 && name === kind)
          found.bodiesOfRefusals.push([kind, inferBody(ofKind).template]);
      }
      found.dropRepeated('not_found', ['path_not_found', 'device_not_found']);
      found.dropRepeated('malformed_json', ['not_an_object', 'empty_body']);
      const general = templateOfOthers(found.bodiesOfRefusals, shape);
      if (general !== undefined)
        found.templates['error'] = { ...general, ...(headers && { headers }) };
      found.add('redirect', await redirectOf(t, account));
      return found.seen();
    },
  }),
  about('replyTemplates/of-figures-and-lists', ['sender', 'discover'], 2, {
    spends: { dashboard_send: 1, external_send: 1, received: 1, tasks: 1 },
    sends: 'a message, and requests for statistics, lists and tasks before and after it',
    run: async (t, account) => {
      const found = new FoundTemplates();
      found.add('stats', await statsOf(t, account));
      found.add('received', await receivedOf(t, account));
      // A simulator's SIM that polls by itself gets no tasks over HTTP.
      const polled = t.hasControl ? await t.account({ sim: { polling: 'external' } }) : account;
      found.add('tasks', await tasksOf(t, polled));
      const { reply } = await t.mustSend(account);
      found.add('message', headersTemplate(reply));
      for (const name of ['dashboard_send', 'external_send'] as const)
        found.add(name, await otherSend(t, account, name));
      return found.seen();
    },
  }),
  about('replyTemplates/of-a-429', ['key', 'discover'], 0, {
    recordings: [floodOf.received],
    sends: 'requests for received messages until one is refused',
    run: async (t) => throttledSeen((await recorded(t, floodOf.received)).refusals),
  }),
];

/** The template of the statistics, from the figures that change when a message is accepted. */
async function statsOf(t: Trial, account: AccountUnderTest): Promise<Inferred | undefined> {
  const { client } = t.target;
  const sentBefore = client.sends;
  const before = await t.get(paths.stats, account.key);
  await t.mustSend(account);
  const after = await t.get(paths.stats, account.key);
  // Without a control port, other cases send from the same account meanwhile.
  const sentMeanwhile = client.sends - sentBefore;
  verify.given(() => verify.status(after, 200));
  if (hasDefaultFigures(after)) return headersTemplate(after);
  if (before.json === undefined || after.json === undefined)
    return undeterminedBy('the statistics are not JSON');
  const undetermined: string[] = [];
  const body = inferStats(before.json, after.json, {
    at: '',
    maxAccepted: sentMeanwhile,
    undetermined,
  });
  return { template: { ...headersIn(after), body: body as never }, undetermined };
}

/** True if the statistics have the members of the simulator's default. */
function hasDefaultFigures({ json }: Reply): boolean {
  if (!verify.isObject(json)) return false;
  const { messages, quota } = json;
  return (
    hasFields(json, ['messages', 'quota', 'received', 'sims_connected']) &&
    hasFields(messages, ['delivered', 'failed', 'queued', 'sending', 'sent']) &&
    hasFields(quota, ['limit', 'used'])
  );
}

/** The members of an object; none for any other value. */
function fieldsIn(value: unknown): Readonly<Record<string, unknown>> {
  return verify.isObject(value) ? value : {};
}

/** True for an object with exactly these fields, which are in alphabetical order. */
function hasFields(value: unknown, names: readonly string[]): boolean {
  return verify.isObject(value) && Object.keys(value).toSorted().join() === names.join();
}

const receivedItem = ['device_id', 'from_number', 'message', 'message_id', 'received_at', 'to'];

async function receivedOf(t: Trial, account: AccountUnderTest): Promise<Inferred | undefined> {
  if (t.hasControl) await receiveTwoMessages(t, account);
  const reply = await t.get(paths.received, account.key);
  verify.given(() => verify.status(reply, 200));
  const { json } = reply;
  const isPage = hasFields(json, ['count', 'next', 'previous', 'results']);
  const list = listIn(json);
  const [entry] = list;
  const isDefaultItem = entry === undefined || hasFields(entry, receivedItem);
  if ((isPage || Array.isArray(json)) && isDefaultItem) return headersTemplate(reply);
  const recipient = { number: account.from, deviceId: account.sims[0]?.deviceId };
  const item = isDefaultItem ? undefined : inferReceived(list, recipient);
  return listTemplate(reply, ['next', 'previous'], item);
}

/** The list that a reply is or contains. */
function listIn(json: unknown): readonly unknown[] {
  if (Array.isArray(json)) return json;
  return verify.isObject(json) ? (Object.values(json).find(Array.isArray) ?? []) : [];
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

async function tasksOf(t: Trial, account: AccountUnderTest): Promise<Inferred | undefined> {
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
  const isDefaultItem =
    entry === undefined || hasFields(entry, ['from_number', 'message', 'message_id', 'to']);
  const isDefaultList = Array.isArray(json) || hasFields(json, ['tasks']);
  if (isDefaultList && isDefaultItem) return headersTemplate(reply);
  const { status: _, ...others } = message;
  const values = valuesIn({ ...others, message: fields['message'] });
  const item = isDefaultItem
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
function headersTemplate(reply: Reply): Inferred | undefined {
  const template = headersIn(reply);
  return template.headers === undefined ? undefined : { template, undetermined: [] };
}

function headersIn(reply: Sample['reply']): Pick<ReplyTemplate, 'headers'> {
  const headers = headersOf([{ reply, values: {} }]);
  return headers === undefined ? {} : { headers };
}

/** The template of a send's reply, if that is not the Message body of the document. */
async function otherSend(
  t: Trial,
  account: AccountUnderTest,
  name: 'dashboard_send' | 'external_send',
): Promise<Inferred | undefined> {
  const reply = await t.post(paths[name], account.key, t.fields(account));
  if (reply.status < 200 || reply.status > 299 || !verify.isObject(reply.json)) return undefined;
  const { json } = reply;
  if (hasFields(json, messageFields) && reply.status === 202) return headersTemplate(reply);
  const id = String(json['message_id'] ?? json['id'] ?? '');
  const read = await t.read(account, id);
  if (read.status !== 200 || !verify.isObject(read.json))
    return undeterminedBy('its reply contains no id of a readable message');
  return templateOf([{ reply, values: valuesIn(read.json) }], { status: 202, bodies: [] });
}

/** The fields that can be placeholders: an empty text is found anywhere. */
function valuesIn(fields: Readonly<Record<string, unknown>>): Sample['values'] {
  const present = Object.entries(fields).filter(([, value]) => value !== '');
  return Object.fromEntries(present) as Sample['values'];
}

/** The template of a 429 (ERR-4), if its body has more than `detail`, or its headers differ. */
function throttledSeen(refusals: readonly Reply[]): Seen {
  // A wait of one second is worded in the singular.
  const plural = refusals.filter(({ headers }) => headers['retry-after'] !== '1');
  const alike = plural.length > 0 ? plural : refusals;
  const samples = alike
    .slice(0, 3)
    .map((reply) => sampleOf(reply, { retry_after: Number(reply.headers['retry-after']) }));
  if (samples.length === 0) return { undetermined: 'no 429 was seen' };
  const { detail: worded } = fieldsIn(inferBody(samples).template.body);
  if (!String(worded).includes('{retry_after}'))
    return { undetermined: 'its detail does not state the wait of Retry-After' };
  const detail = 'Request was throttled. Expected available in {retry_after} seconds.';
  const bodies = [{ detail }, { detail: detail.replace('seconds', 'second') }];
  const found = new FoundTemplates();
  found.add('throttled', templateOf(samples, { bodies }));
  return found.seen();
}
