/**
 * The documented replies are exactly the possible ones: status, headers and body. The test
 * validates with ajv, which is independent of zod.
 */
import { expect, test } from 'vitest';
import {
  documentedLimitsPerMinute,
  type EndpointName,
  endpointNames,
  sendEndpoints,
} from '#contract/limits.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { routes } from '#contract/routes.ts';
import { mixtures, named, unmixed } from '#verify/testkit/assumption-mixtures.ts';
import { DescribedService } from '#verify/testkit/openapi-fixture.ts';
import { sample } from '#verify/testkit/runs.ts';
import {
  acmeNumber,
  acmeOtherNumber,
  recipient,
  unknownNumber,
} from '#verify/testkit/twin/twin.ts';
import { refuseUnread } from '../../http/service/templated-replies.ts';
import { transportReply } from '../../http/transport/served-port.ts';
import type { ShapeRefusal } from '../../http/transport/transport.ts';
import { defaultAssumptions } from '../../sim/assumptions.ts';
import { Simulator } from '../../simulator.ts';
import { openApiText } from './service-document.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';

class Caller {
  readonly simulator: Simulator;
  readonly answered = new Map<EndpointName, ApiReply[]>();
  readonly #acme: ReturnType<Simulator['readyFile']>['accounts'][number];

  constructor(
    assumptions: (typeof mixtures)[number],
    maxMessages: number | 'unlimited' = 'unlimited',
  ) {
    this.simulator = new Simulator({ clock: 'manual', assumptions, maxMessages });
    const [acme] = this.simulator.readyFile().accounts;
    if (acme === undefined) throw new Error('a world without accounts');
    this.#acme = acme;
  }

  get accountId(): string {
    return this.#acme.account_id;
  }

  deviceId(at: number): string {
    return this.#acme.sims[at]?.device_id ?? '';
  }

  ask(endpoint: EndpointName, path: string, more: Partial<ApiRequest> = {}): ApiReply {
    const reply = this.simulator.handle({
      method: routes[endpoint].method,
      path,
      query: '',
      authorization: `Bearer ${this.#acme.api_key}`,
      contentType: 'application/json',
      clientIp: '192.0.2.7',
      forwardedFor: undefined,
      body: '',
      ...more,
    });
    this.answered.set(endpoint, [...(this.answered.get(endpoint) ?? []), reply]);
    return reply;
  }

  /** Causes every refusal before the endpoint's own checks, and its limit. */
  askWrongly(endpoint: EndpointName, path: string): void {
    this.ask(endpoint, path, { authorization: undefined });
    this.ask(endpoint, path, { method: 'PUT' });
    this.ask(endpoint, path.slice(0, -1));
    const limit = documentedLimitsPerMinute[endpoint] ?? 0;
    for (let count = 0; count <= limit; count++) this.ask(endpoint, path, { body: '{' });
    this.simulator.clock.advance('60s');
  }

  send(endpoint: EndpointName, fields: object, more: Partial<ApiRequest> = {}): ApiReply {
    const plain = { to: recipient, from: acmeNumber, message: 'hello' };
    const body = JSON.stringify({ ...plain, ...fields });
    return this.ask(endpoint, routes[endpoint].pattern, { body, ...more });
  }
}

/**
 * Causes every reply of a send endpoint. Ids of at most three characters are valid in every
 * mixture.
 */
function callSends(caller: Caller, endpoint: EndpointName, id: string): void {
  const { simulator } = caller;
  caller.send(endpoint, { request_id: id });
  caller.send(endpoint, { request_id: id });
  caller.send(endpoint, { request_id: id, message: 'another' });
  caller.send(endpoint, { to: 'x', message: 5 });
  caller.send(endpoint, { from: unknownNumber });
  caller.send(endpoint, {}, { contentType: 'text/plain' });
  caller.send(endpoint, {}, { contentEncoding: 'gzip' });
  simulator.sims.patch(caller.deviceId(1), { allowed: false });
  caller.send(endpoint, { from: acmeOtherNumber });
  simulator.sims.patch(caller.deviceId(1), { allowed: true, active: false });
  caller.send(endpoint, { from: acmeOtherNumber });
  simulator.sims.patch(caller.deviceId(1), { active: true });
  simulator.accounts.patch(caller.accountId, { monthly_quota: 0 });
  caller.send(endpoint, {});
  simulator.accounts.patch(caller.accountId, { monthly_quota: 'unlimited' });
  caller.askWrongly(endpoint, routes[endpoint].pattern);
}

function callReads(caller: Caller): void {
  const { simulator } = caller;
  const sent = caller.send('send', { send_at: '2026-01-02T00:00:00Z' });
  const held = JSON.parse(sent.body) as { readonly message_id: string };
  const path = `/api/v1/sms/${held.message_id}/`;
  caller.ask('read', path);
  for (let day = 0; day < 2; day++) simulator.clock.advance('24h');
  for (let step = 0; step < 9; step++) {
    const to = ['+12025550160', '+12025550163', '+12025550164', '+12025550165'][step % 4];
    const { message_id: id } = JSON.parse(caller.send('send', { to }).body) as typeof held;
    simulator.clock.advance('55s');
    caller.ask('read', `/api/v1/sms/${id}/`);
  }
  caller.ask('read', path);
  caller.ask('read', `/api/v1/sms/${unknownId}/`);
  caller.ask('read', '/api/v1/sms/x/');
  caller.askWrongly('read', path);
}

function callOthers(caller: Caller): void {
  const { simulator } = caller;
  const received = routes.received.pattern;
  caller.ask('received', received);
  for (const message of ['one', 'two', 'three'])
    simulator.sims.receive(caller.accountId, { from: recipient, to: acmeNumber, message });
  caller.ask('received', received);
  caller.ask('received', received, { query: 'page=2&page_size=1' });
  caller.ask('received', received, { query: 'page=9' });
  caller.ask('received', received, { query: 'page=0&page_size=x' });
  caller.askWrongly('received', received);

  const tasks = `/api/devices/${caller.deviceId(0)}/tasks/`;
  caller.ask('tasks', tasks);
  simulator.sims.patch(caller.deviceId(0), { polling: 'external' });
  caller.send('send', {});
  caller.ask('tasks', tasks);
  caller.ask('tasks', `/api/devices/${unknownId}/tasks/`);
  caller.askWrongly('tasks', tasks);

  const stats = routes.stats.pattern;
  caller.ask('stats', stats);
  simulator.accounts.patch(caller.accountId, { monthly_quota: 5 });
  caller.ask('stats', stats);
  caller.askWrongly('stats', stats);
}

test.each([...sample(mixtures, 2), ...unmixed].map((each) => [named(each), each] as const))(
  'the document and the service agree on every reply under %s',
  (_, assumptions) => {
    const caller = new Caller(assumptions);
    callSends(caller, 'send', 'a');
    callSends(caller, 'dashboard_send', 'b');
    callSends(caller, 'external_send', 'c');
    callReads(caller);
    callOthers(caller);
    // One message fills it, so that the others find no room.
    const full = new Caller(assumptions, 1);
    full.send('send', {});
    for (const endpoint of sendEndpoints) full.send(endpoint, {});

    const service = new DescribedService(assumptions);
    for (const endpoint of endpointNames) {
      const replies = [caller, full].flatMap(({ answered }) => answered.get(endpoint) ?? []);
      const met = new Set(replies.flatMap((reply) => service.recognise(endpoint, reply)));
      // The transport sends this one; such a request never reaches the service.
      const documented = service.documented(endpoint).filter((row) => row !== '413 TooLarge');
      expect([endpoint, [...met].sort()]).toEqual([endpoint, documented.sort()]);
    }
  },
);

test.each(['code_detail', 'field_map', 'nested'] as const)(
  'the refusals of the transport match the document under errorBody %s',
  (errorBody) => {
    const setting = { seed: 0, now: () => 0, assumptions: { ...defaultAssumptions, errorBody } };
    const shapeRefusal: ShapeRefusal = (...refusal) => refuseUnread(setting, ...refusal);
    const serve = { service: () => tooLarge, shapeRefusal };
    const tooLarge = transportReply(serve, 'tooLarge', 65_536);
    for (const endpoint of ['send', 'dashboard_send', 'external_send'] as const) {
      const service = new DescribedService({ errorBody });
      expect(service.recognise(endpoint, tooLarge)).toEqual(['413 TooLarge']);
    }
  },
);

test("the eight rows of the document's Errors part", () => {
  const service = new DescribedService();
  const rows = endpointNames.flatMap((endpoint) => service.documented(endpoint));
  expect(rows).toEqual(
    expect.arrayContaining([
      '400 InvalidField',
      '401 InvalidKey',
      '402 QuotaExceeded',
      '403 NumberNotFound',
      '403 NumberAccessDenied',
      '404 NotFound',
      '429 Throttled',
      '503 DeviceInactive',
    ]),
  );
  const text = JSON.stringify(service.document['components']);
  for (const code of [
    'auth_invalid_keyy',
    'quota_exceeded',
    'from_number_not_found',
    'from_number_access_deniedd',
    'device_inactive',
    'overloaded',
  ]) {
    expect(text).toContain(`"const":"${code}"`);
  }
});

test('the document states the limits and is cached for the assumptions in force', () => {
  const { simulator } = new Caller({});
  const text = () =>
    openApiText({
      assumptions: simulator.assumptions.get(),
      limits: simulator.limits.get(),
      baseUrl: 'http://127.0.0.1:9999',
    });
  const first = text();
  expect(text()).toBe(first);
  expect(first).toContain('More than 60 requests per minute');
  simulator.limits.patch({ tasks: 7 });
  expect(text()).toContain('More than 7 requests per minute');
  simulator.assumptions.patch({ errorBody: 'nested' });
  expect(text()).not.toBe(first);
  simulator.limits.patch({ tasks: null });
  const { paths } = JSON.parse(text());
  const { pattern } = routes.tasks;
  expect(paths[pattern].get.responses).not.toHaveProperty('429');
});

test('a template that only sets a header leaves the documented body, and the header is listed', () => {
  const { simulator } = new Caller({ replyTemplates: { stats: { headers: { 'x-trace': 'on' } } } });
  const assumptions = simulator.assumptions.get();
  const text = openApiText({ assumptions, limits: simulator.limits.get(), baseUrl: 'http://a' });
  const { paths, components } = JSON.parse(text);
  const { headers, content } = paths[routes.stats.pattern].get.responses[200];
  expect(Object.keys(headers)).toEqual(['X-Trace']);
  const schema = { $ref: '#/components/schemas/AccountStats' };
  expect(content['application/json'].schema).toEqual(schema);
  expect(components.schemas).toHaveProperty('AccountStats');
});

test('a redirect is documented with the status, the headers and the body of its template', () => {
  const redirect = { status: 308, headers: { 'x-a': 'b' }, body: { moved: '{location}' } };
  const overrides = { trailingSlash: 'redirect', replyTemplates: { redirect } } as const;
  const reply = new Caller(overrides).ask('stats', routes.stats.pattern.slice(0, -1));
  const described = new DescribedService(overrides);
  expect(described.recognise('stats', reply)).toEqual(['308 inline']);
  expect(described.operation('stats').responses).not.toHaveProperty('301');
});

test('a status that a template gives all successes has the descriptions of all', () => {
  const overrides = { replyTemplates: { external_send: { status: 201 } } };
  const { responses } = new DescribedService(overrides).operation('external_send');
  expect(Object.keys(responses).filter((status) => status < '300')).toEqual(['201']);
  expect(responses[201]).toMatchObject({
    description: expect.stringMatching(/^A replay.*\n\nQueued/),
  });
});

test.each(['canonical', 'any_case', 'any'] as const)(
  'READ-1 under `pathIdForm: %s` the document permits the ids that the service reads',
  (pathIdForm) => {
    const caller = new Caller({ pathIdForm });
    const { message_id: id } = JSON.parse(caller.send('send', {}).body);
    const { document } = new DescribedService({ pathIdForm });
    const paths = document['paths'] as Record<
      string,
      { get: { parameters: { schema: object }[] } }
    >;
    const schema = paths[routes.read.pattern]?.get.parameters[0]?.schema as { pattern: string };
    for (const spelling of [id, id.toUpperCase(), id.replaceAll('-', ''), id.replace('-', '')]) {
      const { status } = caller.ask('read', routes.read.pattern.replace('{message_id}', spelling));
      expect([spelling, new RegExp(schema.pattern).test(spelling)]).toEqual([
        spelling,
        status === 200,
      ]);
    }
  },
);
