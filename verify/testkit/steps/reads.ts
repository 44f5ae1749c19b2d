/** Requests other than sends: reads, lists, polls, bursts, and requests without a key or a path. */
import fc from 'fast-check';
import { type EndpointName, endpointNames, isLimited } from '#contract/limits.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { itemAt } from '../twin/callers.ts';
import type { ComparedRun } from '../twin/compared-run.ts';
import { bearer, requestText, requestTo, type SendPath, sendPaths } from '../twin/request.ts';
import { post } from './sends.ts';
import {
  caller,
  limited,
  mostly,
  owner,
  position,
  spelling,
  spelt,
  stepKind,
  weighted,
  whoseOf,
} from './step.ts';
import * as values from './values.ts';

const receivedPath = '/api/v1/sms/received/';
const statsPath = '/api/v1/account/stats/';
/** In the trace, `who` of a request without a caller. */
const noCaller = -1;

export const read = stepKind(
  'read',
  whoseOf(
    fc.record(
      {
        who: caller,
        key: position,
        whose: fc.option(caller, { nil: undefined, freq: 4 }),
        message: fc.nat({ max: 30 }),
        method: mostly(fc.constant<string>('GET'), fc.constant('HEAD')),
        spelt: spelling,
        id: fc.constantFrom(...values.unknownIds),
      },
      { requiredKeys: ['who', 'key', 'whose', 'message', 'method'] },
    ),
  ),
  (run, step) => {
    const { who, method } = step;
    const messageId = itemAt(run.callers.messagesOf(step.whose), step.message)?.messageId;
    const path = `/api/v1/sms/${spelt(step.id ?? messageId ?? 'none', step.spelt)}/`;
    return ask(run, who, { ...run.getBy(who, path, step.key), method });
  },
);

export const tasks = stepKind(
  'tasks',
  whoseOf(
    fc.record(
      {
        who: caller,
        key: position,
        whose: fc.option(owner, { nil: undefined, freq: 5 }),
        sim: position,
        spelt: spelling,
        id: fc.constantFrom(...values.unknownIds.slice(0, 3)),
      },
      { requiredKeys: ['who', 'key', 'whose', 'sim'] },
    ),
  ),
  (run, step) => {
    const deviceId = itemAt(run.callers.simsOf(step.whose), step.sim)?.deviceId;
    const path = `/api/devices/${spelt(step.id ?? deviceId ?? 'none', step.spelt)}/tasks/`;
    return ask(run, step.who, run.getBy(step.who, path, step.key));
  },
);

export const received = stepKind(
  'received',
  fc.record({ who: caller, key: position, query: fc.constantFrom(...values.pageQueries) }),
  (run, { who, key, query }) => ask(run, who, { ...run.getBy(who, receivedPath, key), query }),
);

export const stats = stepKind(
  'stats',
  fc.record({ who: caller, key: position }),
  (run, { who, key }) => ask(run, who, run.getBy(who, statsPath, key)),
);

/** Requests to paths that the service does not have. */
export const lost = stepKind(
  'lost',
  fc.record({
    who: caller,
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'),
    path: fc.constantFrom(...values.nearPaths),
    query: fc.constantFrom('', 'a=b'),
  }),
  (run, { who, method, path, query }) => ask(run, who, { ...run.getBy(who, path), method, query }),
);

/** Makes as many requests to an endpoint as its limit allows, or a few less or more. */
export const burst = stepKind(
  'burst',
  fc.record({
    who: caller,
    key: position,
    endpoint: weighted<EndpointName>([5, limited], [1, fc.constantFrom('read', 'stats')]),
    extra: fc.constantFrom(-1, 0, 1, 2),
  }),
  (run, { who, endpoint, extra }) => {
    // Reads and statistics have no limit: as many as the limit of the other endpoints.
    const limit = isLimited(endpoint) ? run.model.limits[endpoint] : 120;
    const times = Math.max(0, (limit ?? 1) + extra);
    const keys = run.callers.validKeysOf(who);
    const request = cheapRequest(run, who, endpoint);
    let last: ApiReply | undefined;
    // From several addresses and with all keys in turn, since neither may have its own bucket.
    for (let index = 0; index < times; index++) {
      const authorization = bearer(itemAt(keys, index) ?? 'none');
      const clientIp = `203.0.113.${index % 3}`;
      last = run.exchange(who, { ...request, authorization, clientIp });
    }
    return `${times} times ${endpoint} by ${run.callers.nameOf(who)} -> ${last?.status}`;
  },
);

/** Requests without a valid key. */
export const stranger = stepKind(
  'stranger',
  fc.record(
    {
      ip: fc.nat({ max: 2 }),
      endpoint: fc.constantFrom(...endpointNames),
      authorization: fc.constantFrom(...values.oddAuthorizations),
      query: fc.constantFrom('', '', 'api_key={key}', 'key={key}', 'access_token={key}'),
      /** How often; `limit`: once more than the limit, and then also from another address. */
      times: fc.constantFrom<number | 'limit'>(1, 1, 1, 2, 5, 'limit'),
    },
    { requiredKeys: ['ip', 'endpoint', 'query', 'times'] },
  ),
  (run, step) => {
    const { endpoint } = step;
    const request = {
      ...acceptableRequest(run, endpoint),
      authorization: step.authorization && withKeys(run, step.authorization),
      query: withKeys(run, step.query),
    };
    const clientIp = `203.0.113.${step.ip}`;
    const forwardedFor = [undefined, '198.51.100.7', '203.0.113.0, 198.51.100.7'][step.ip];
    const limit = (isLimited(endpoint) ? run.model.limits[endpoint] : null) ?? 1;
    const times = step.times === 'limit' ? limit + 1 : step.times;
    for (let sent = 1; sent < times; sent++)
      run.exchange(noCaller, { ...request, clientIp, forwardedFor });
    if (step.times === 'limit') {
      run.exchange(noCaller, { ...request, clientIp: '203.0.113.9' });
      run.exchange(0, { ...request, authorization: bearer(run.callers.keyAt(0, 0)) });
    }
    return ask(run, noCaller, { ...request, clientIp, forwardedFor });
  },
);

function ask(run: ComparedRun, who: number, request: ApiRequest): string {
  return `${requestText(request)} -> ${run.exchange(who, request).status}`;
}

/** A request that spends a token, if the endpoint has a limit, and changes little. */
function cheapRequest(run: ComparedRun, who: number, endpoint: EndpointName): ApiRequest {
  if (endpoint in sendPaths) return post(run, { who, key: 0, via: endpoint as SendPath }, '{}');
  if (endpoint === 'received') return run.getBy(who, receivedPath);
  if (endpoint === 'tasks') return run.getBy(who, '/api/devices/none/tasks/');
  if (endpoint === 'stats') return run.getBy(who, statsPath);
  return run.getBy(who, `/api/v1/sms/${run.callers.messagesOf(who)[0]?.messageId ?? 'none'}/`);
}

/** A request that would succeed with a valid key of the first account. */
function acceptableRequest(run: ComparedRun, endpoint: EndpointName): ApiRequest {
  const [simulated, external] = run.callers.simsOf(0);
  if (endpoint === 'tasks') return requestTo(`/api/devices/${external?.deviceId}/tasks/`);
  if (!(endpoint in sendPaths)) return cheapRequest(run, 0, endpoint);
  const body = { to: '+12025550150', from: simulated?.number, message: 'hello' };
  const origin = { who: 0, key: 0, via: endpoint as SendPath };
  return post(run, origin, JSON.stringify(body));
}

/** The text with a key of the first account, or a part of one, in place of its placeholders. */
function withKeys(run: ComparedRun, text: string): string {
  const keys = run.callers.keysOf(0);
  const valid = keys.find(({ revoked }) => !revoked)?.key;
  const revoked = keys.find((key) => key.revoked)?.key;
  return values.withKeys(text, valid ?? 'none', revoked ?? 'none');
}
