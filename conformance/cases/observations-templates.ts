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
  templateOfOthers,
  templateOfRefusal,
} from '#judging/discovery/discovered-templates.ts';
import { type Inferred, inferBody } from '#judging/discovery/infer-template.ts';
import type { Reply } from '#judging/evidence/reply.ts';
import { floodOf } from '../floods/floods.ts';
import { about, type Observation, type Seen } from '../run/case.ts';
import { recorded } from '../run/recording.ts';
import {
  fieldsIn,
  templateOfHeaders,
  templateOfOtherSend,
  templateOfReceived,
  templateOfStats,
  templateOfTasks,
} from '../steps/infer-replies.ts';
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
      found.add('stats', await templateOfStats(t, account));
      found.add('received', await templateOfReceived(t, account));
      // A simulator's SIM that polls by itself gets no tasks over HTTP.
      const polled = t.hasControl ? await t.account({ sim: { polling: 'external' } }) : account;
      found.add('tasks', await templateOfTasks(t, polled));
      const { reply } = await t.mustSend(account);
      found.add('message', templateOfHeaders(reply));
      for (const name of ['dashboard_send', 'external_send'] as const)
        found.add(name, await templateOfOtherSend(t, account, name));
      return found.seen();
    },
  }),
  about('replyTemplates/of-a-429', ['key', 'discover'], 0, {
    recordings: [floodOf.received],
    sends: 'requests for received messages until one is refused',
    run: async (t) => throttledSeen((await recorded(t, floodOf.received)).refusals),
  }),
];

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
