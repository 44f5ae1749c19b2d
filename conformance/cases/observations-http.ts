/**
 * How a target words its replies and handles unusual requests where the document is silent.
 * Observed, not judged.
 */
import type { Observation, Seen } from '../case.ts';
import type { Reply } from '../client.ts';
import { shapeOf } from '../discovered-templates.ts';
import { flood } from '../flood.ts';
import { floodOf } from '../floods.ts';
import { inferBody } from '../infer-template.ts';
import { recorded } from '../recording.ts';
import { paths, type Trial } from '../trial.ts';
import * as verify from '../verify.ts';
import { byStatus } from './observations-send.ts';
import { hasOwnFigures } from './observations-templates.ts';
import { poolNumber } from './svc-1-sims-and-pool.ts';

const needs = ['sender'] as const;
const fresh = ['fresh'] as const;
const required: readonly string[] = ['to', 'from', 'message'];
const unknownId = '00000000-0000-4000-8000-000000000000';

/**
 * Checks that the service answers, accepts this key and requires a key; otherwise no reply proves
 * anything.
 */
async function ready(t: Trial) {
  const account = await t.account();
  const alive = await t.get(paths.stats, account.key);
  const without = await t.get(paths.stats, undefined);
  verify.given(() => {
    verify.status(alive, 200);
    verify.status(without, 401);
  });
  return account;
}

function errorShape(reply: Reply): Seen {
  const { template } = inferBody([{ reply, values: { field: 'send_at' } }]);
  const shape = shapeOf(template.body);
  return shape === undefined ? { untold: `another shape: ${reply.text}` } : { answer: shape };
}

/** A list, or an object with exactly these members. */
function listShape(reply: Reply, names: string, whole: string): Seen {
  if (reply.status === 200 && Array.isArray(reply.json)) return { answer: 'array' };
  if (reply.status === 200 && Object.keys(Object(reply.json)).toSorted().join() === names)
    return { answer: whole };
  return { untold: `another shape: ${verify.describe(reply)}` };
}

async function sameShape(t: Trial, path: string): Promise<Seen> {
  const account = await t.account();
  const { body } = await t.queued(account);
  const reply = await t.post(path, account.key, t.fields(account));
  const names = (value: unknown) => Object.keys(verify.isObject(value) ? value : {}).sort();
  if (reply.status === 202 && names(reply.json).join() === names(body).join())
    return { answer: 'same_as_v1' };
  return { untold: `another shape: ${verify.describe(reply)}` };
}

function unauthenticated(t: Trial, forwardedFor?: string): Promise<Reply> {
  return t.request({
    method: 'GET',
    path: paths.received,
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
  });
}

/** True if calls without a key reached the address's limit of 120. */
async function addressIsThrottled(t: Trial): Promise<boolean> {
  await t.advance(121_000);
  const replies = await flood(122, () => unauthenticated(t));
  return replies.some((reply) => reply.status === 429);
}

export const httpObservations: readonly Observation[] = [
  {
    assumption: 'errorBody',
    name: 'of-a-400',
    needs,
    cost: { sends: 1 },
    sends: 'an invalid send_at',
    run: async (t) => {
      const reply = await t.send(await ready(t), { send_at: 'x' });
      verify.given(() => verify.status(reply, 400));
      return errorShape(reply);
    },
  },
  {
    assumption: 'notFoundBody',
    name: 'of-an-unknown-id',
    needs: ['key'],
    cost: {},
    sends: 'a read of an unknown id',
    run: async (t) => {
      const reply = await t.read(await ready(t), unknownId);
      verify.given(() => verify.status(reply, 404));
      const code = verify.codeOf(reply);
      if (code !== undefined) return { answer: 'code_detail' };
      return verify.isObject(reply.json) && typeof reply.json['detail'] === 'string'
        ? { answer: 'detail_only' }
        : { untold: `another shape: ${verify.describe(reply)}` };
    },
  },
  {
    assumption: 'malformedJson',
    name: 'half-an-object',
    needs,
    cost: { sends: 1 },
    sends: 'a body that is not JSON',
    run: async (t) => {
      const account = await ready(t);
      const reply = await t.post(paths.send, account.key, '{');
      verify.given(() => verify.status(reply, 400));
      return { answer: verify.codeOf(reply) === undefined ? 'detail_400' : 'code_400' };
    },
  },
  {
    assumption: 'emptyBody',
    name: 'nothing',
    needs,
    cost: { sends: 1 },
    sends: 'a send without a body',
    run: async (t) => {
      const account = await ready(t);
      const reply = await t.post(paths.send, account.key, '');
      verify.given(() => verify.status(reply, 400));
      const isNamed = verify.fieldsNamed(reply).some((name) => required.includes(name));
      return { answer: isNamed ? 'no_fields' : 'malformed' };
    },
  },
  {
    assumption: 'pathCase',
    name: 'capitals',
    needs: ['key'],
    cost: {},
    sends: 'a request for the statistics by a path with capitals',
    run: async (t) => {
      const { key } = await ready(t);
      return byStatus(await t.get('/API/v1/account/STATS/', key), { 404: 'exact', 200: 'any' });
    },
  },
  {
    assumption: 'headMethod',
    name: 'of-the-statistics',
    needs: ['key'],
    cost: {},
    sends: 'HEAD of the statistics',
    run: async (t) => {
      const { key } = await ready(t);
      const headers = { authorization: `Bearer ${key}` };
      const reply = await t.request({ method: 'HEAD', path: paths.stats, headers });
      return byStatus(reply, { 200: 'as_get', 405: 'refused', 404: 'refused', 501: 'refused' });
    },
  },
  {
    assumption: 'bearerSpace',
    name: 'two-spaces',
    needs: ['key'],
    cost: {},
    sends: 'a request with two spaces between Bearer and the key',
    run: async (t) => {
      const { key } = await ready(t);
      const headers = { authorization: `Bearer  ${key}` };
      const reply = await t.request({ method: 'GET', path: paths.stats, headers });
      return byStatus(reply, { 200: 'any', 401: 'one' });
    },
  },
  {
    assumption: 'keyCheck',
    name: 'without-a-key',
    needs: ['key'],
    cost: {},
    sends: 'requests without a key: of an unknown path, and with a wrong method',
    run: async (t) => {
      await ready(t);
      const unknown = await t.get('/api/v1/conformance/none/', undefined);
      if (unknown.status === 401) return { answer: 'first' };
      const reply = await t.request({ method: 'DELETE', path: paths.stats });
      return byStatus(reply, { 401: 'before_method', 404: 'after_method', 405: 'after_method' });
    },
  },
  {
    assumption: 'contentType',
    name: 'plain-text',
    needs,
    cost: { sends: 1 },
    sends: 'a valid message declared as plain text',
    run: async (t) => {
      const account = await ready(t);
      const reply = await t.request({
        method: 'POST',
        path: paths.send,
        headers: { 'content-type': 'text/plain', authorization: `Bearer ${account.key}` },
        body: JSON.stringify(t.fields(account)),
      });
      return byStatus(reply, { 415: 'reject_415', 202: 'ignore' });
    },
  },
  {
    assumption: 'trailingSlash',
    name: 'without-it',
    needs: ['key'],
    cost: {},
    sends: 'a request for the statistics without the last slash',
    run: async (t) => {
      const { key } = await ready(t);
      const reply = await t.get(paths.stats.replace(/\/$/, ''), key);
      return byStatus(reply, {
        200: 'served',
        404: 'not_found',
        301: 'redirect',
        302: 'redirect',
        307: 'redirect',
        308: 'redirect',
      });
    },
  },
  {
    assumption: 'methodNotAllowed',
    name: 'delete-stats',
    needs: ['key'],
    cost: {},
    sends: 'DELETE on the statistics',
    run: async (t) => {
      const { key } = await ready(t);
      const reply = await t.request({
        method: 'DELETE',
        path: paths.stats,
        headers: { authorization: `Bearer ${key}` },
      });
      return byStatus(reply, { 405: '405', 404: '404' });
    },
  },
  {
    assumption: 'pathIdForm',
    name: 'other-spellings',
    needs,
    cost: { sends: 1 },
    sends: 'reads of a message by its id in capitals and without hyphens',
    run: async (t) => {
      const account = await t.account();
      const { messageId } = await t.queued(account);
      const capitals = await t.read(account, messageId.toUpperCase());
      const bare = await t.read(account, messageId.replaceAll('-', ''));
      const answers: Readonly<Record<string, string>> = {
        '200 200': 'any',
        '200 404': 'any_case',
        '404 404': 'canonical',
      };
      const seen = `${capitals.status} ${bare.status}`;
      const answer = answers[seen];
      return answer === undefined ? { untold: `the two were answered ${seen}` } : { answer };
    },
  },
  {
    assumption: 'keyFormat',
    name: 'prefix',
    needs: ['key'],
    cost: {},
    sends: 'nothing: it inspects the key itself',
    run: async (t) => {
      const { key } = await ready(t);
      const prefix = /^([A-Za-z0-9_.~-]{0,32})[A-Za-z0-9]{40}$/.exec(key)?.[1];
      return prefix === undefined
        ? { untold: 'the key does not end in 40 letters and digits' }
        : { answer: prefix };
    },
  },
  {
    assumption: 'dashboardSendShape',
    name: 'as-v1',
    needs,
    cost: { sends: 2 },
    spends: { send: 1, dashboard_send: 1 },
    sends: 'a message by the dashboard send',
    run: (t) => sameShape(t, paths.dashboard_send),
  },
  {
    assumption: 'externalSendShape',
    name: 'as-v1',
    needs,
    cost: { sends: 2 },
    spends: { send: 1, external_send: 1 },
    sends: 'a message by the external send',
    run: (t) => sameShape(t, paths.external_send),
  },
  {
    assumption: 'receivedShape',
    name: 'list',
    needs: ['key'],
    cost: {},
    spends: { received: 1 },
    sends: 'a read of received messages',
    run: async (t) => {
      const { key } = await ready(t);
      return listShape(await t.get(paths.received, key), 'count,next,previous,results', 'page');
    },
  },
  {
    assumption: 'receivedQuery',
    name: 'page-0',
    needs: ['key'],
    cost: {},
    spends: { received: 1 },
    sends: 'a read of page 0 of the received messages',
    run: async (t) => {
      const { key } = await ready(t);
      const reply = await t.get(`${paths.received}?page=0`, key);
      return byStatus(reply, { 400: 'reject', 404: 'not_found', 200: 'ignore' });
    },
  },
  {
    assumption: 'tasksShape',
    name: 'list',
    needs: ['key', 'device'],
    cost: {},
    spends: { tasks: 1 },
    sends: "a request for a device's tasks",
    run: async (t) => {
      const account = await ready(t);
      const reply = await t.get(paths.tasks(account.sims[0]?.deviceId ?? ''), account.key);
      return listShape(reply, 'tasks', 'tasks');
    },
  },
  {
    assumption: 'tasksAccess',
    name: 'another-accounts-device',
    needs: fresh,
    cost: {},
    sends: "a request for the tasks of another account's device",
    run: async (t) => {
      const owner = await ready(t);
      const other = await t.account();
      const path = paths.tasks(owner.sims[0]?.deviceId ?? '');
      const own = await t.get(path, owner.key);
      verify.given(() => verify.status(own, 200));
      return byStatus(await t.get(path, other.key), { 404: 'owner' });
    },
    live: {
      needs: ['key', 'device', 'second-account'],
      spends: { tasks: 2 },
      run: async (t) => {
        const owner = await ready(t);
        const path = paths.tasks(owner.sims[0]?.deviceId ?? '');
        const own = await t.get(path, owner.key);
        verify.given(() => verify.status(own, 200));
        return byStatus(await t.get(path, (await t.otherAccount()).key), { 404: 'owner' });
      },
    },
  },
  {
    assumption: 'statsShape',
    name: 'counts',
    needs: ['key'],
    cost: {},
    sends: 'a request for the statistics',
    run: async (t) => {
      const reply = await t.get(paths.stats, (await ready(t)).key);
      return hasOwnFigures(reply)
        ? { answer: 'counts' }
        : { untold: `another shape: ${verify.describe(reply)}` };
    },
  },
  {
    assumption: 'disconnectedSim',
    name: 'own-sim',
    needs: fresh,
    cost: { sends: 1 },
    sends: 'a message from a SIM that is not connected',
    run: async (t) => {
      const account = await t.account();
      const sim = account.sims[0]?.deviceId;
      await t.control.must('sims.patch', { id: sim, input: { connected: false } });
      const reply = await t.send(account);
      const isOwn = reply.status === 202 && verify.object(reply)['device_id'] === sim;
      return byStatus(reply, {
        202: isOwn ? 'queues' : 'pool',
        403: 'access_denied',
        503: 'device_inactive',
      });
    },
  },
  {
    assumption: 'foreignNumber',
    name: 'another-accounts-number',
    needs: ['sender', 'foreign-from'],
    cost: { sends: 1 },
    sends: "a message from another account's number",
    run: async (t) => {
      const account = await ready(t);
      const from = t.target.flags.foreignFrom ?? (await t.account()).from;
      const code = verify.codeOf(await t.send(account, { from })) ?? '';
      if (code.startsWith('from_number_access_denied')) return { answer: 'access_denied' };
      if (code === 'from_number_not_found') return { answer: 'not_found' };
      return { untold: `another code: ${code}` };
    },
  },
  {
    assumption: 'poolBesideOwnSim',
    name: 'pool-number',
    needs: ['pool'],
    cost: { sends: 2 },
    sends: 'a message from the pool number by an account with a connected SIM',
    run: async (t) => {
      const from = await poolNumber(t);
      const without = await t.send(await t.account({ sims: 0 }), { from });
      verify.given(() => verify.accepted(without));
      const reply = await t.send(await t.account(), { from });
      const isUnknown = verify.codeOf(reply) === 'from_number_not_found';
      return byStatus(reply, { 403: isUnknown ? 'not_found' : 'access_denied', 202: 'allow' });
    },
  },
  {
    assumption: 'unauthenticatedThrottle',
    name: 'many-without-a-key',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { throttled: 2 },
    sends: '122 requests without a key',
    run: async (t) => {
      await ready(t);
      const throttled = await addressIsThrottled(t);
      await t.advance(121_000);
      if (throttled) return { answer: 'then_429' };
      return (await errorsSpend(t))
        ? { answer: 'always_401' }
        : { untold: 'refused requests spend nothing here, so the limit is never reached' };
    },
    live: {
      needs: ['key'],
      judges: [floodOf.address],
      run: async (t) => {
        const { refusals } = await recorded(t, floodOf.address);
        if (refusals.length > 0) return { answer: 'then_429' };
        return {
          untold: 'either refused requests spend nothing here, or they are never throttled',
        };
      },
    },
  },
  {
    assumption: 'clientIp',
    name: 'forwarded-for',
    needs: ['fresh', 'clock'],
    alone: true,
    cost: { throttled: 2 },
    sends: 'requests without a key until 429, then one with X-Forwarded-For',
    run: async (t) => {
      await ready(t);
      const throttled = await addressIsThrottled(t);
      const reply = await unauthenticated(t, '203.0.113.9');
      await t.advance(121_000);
      if (!throttled) return { untold: 'calls without a key are never throttled here' };
      return byStatus(reply, { 429: 'peer', 401: 'x_forwarded_for' });
    },
    live: {
      needs: ['key'],
      judges: [floodOf.address],
      run: async (t) => {
        const { otherReplies } = await recorded(t, floodOf.address);
        const forwarded = otherReplies.find(({ name }) => name === 'forwarded');
        if (forwarded === undefined)
          return { untold: 'calls without a key are never throttled here' };
        return byStatus(forwarded.reply, { 429: 'peer', 401: 'x_forwarded_for' });
      },
    },
  },
  {
    assumption: 'errorsSpendToken',
    name: 'many-invalid',
    needs: fresh,
    cost: { sends: 121, throttled: 1 },
    sends: '120 invalid messages, then a valid one',
    run: async (t) => ({ answer: (await errorsSpend(t)) ? 'yes' : 'no' }),
  },
];

/** True if 120 refusals emptied a bucket of 120. */
async function errorsSpend(t: Trial): Promise<boolean> {
  const account = await t.account();
  const refusals = await flood(120, () => t.send(account, { message: 'x'.repeat(1601) }));
  verify.given(() => {
    for (const reply of refusals) verify.status(reply, 400);
  });
  const valid = await t.send(account);
  verify.given(() => verify.status(valid, 202, 429));
  return valid.status === 429;
}
