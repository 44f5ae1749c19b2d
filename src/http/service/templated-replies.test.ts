/**
 * Replies worded by templates: what they may fill in, and what rules keep fixed. Assumes:
 * replyTemplates.
 */
import { expect, test } from 'vitest';
import { recipient, Twin, unknownNumber } from '#verify/testkit/twin/twin.ts';
import { parseSettings } from '../../config/settings.ts';
import { type ReplyTemplates, replyTemplatesSchema } from '../../sim/reply-templates.ts';

function worded(replyTemplates: ReplyTemplates, more = {}): Twin {
  return Twin.assuming({ replyTemplates, ...more });
}

test('a 400 names each failing field where the template does', () => {
  const template = {
    title: 'Invalid',
    first: '{field}',
    list: [{ on: '{field}', why: '{detail}' }],
    map: { '{field}': ['{detail}'] },
  };
  const twin = worded({ invalid_field: { body: template } }, { validationScope: 'all' });
  const { json } = twin.send({ to: 'x', message: 1 });
  expect(json).toMatchObject({ title: 'Invalid', first: 'to' });
  expect(json['list']).toHaveLength(2);
  expect(Object.keys(json['map'] as object)).toEqual(['to', 'message']);
});

test('under `validationScope: first` it names the first alone', () => {
  const twin = worded({ invalid_field: { body: [{ on: '{field}' }] } });
  expect(twin.send({ to: 'x', message: 1 }).body).toBe('[{"on":"to"}]');
});

test('a field called __proto__ is named like any other', () => {
  const twin = worded({ invalid_field: { body: { '{field}': 1 } } }, { unknownFields: 'reject' });
  const body = `{"to":"${recipient}","from":"+12025550101","message":"a","__proto__":1}`;
  const reply = twin.request('POST', '/api/v1/sms/send/', {
    body,
    contentType: 'application/json',
  });
  expect(reply.body).toBe('{"__proto__":1}');
});

test('ERR-3, ERR-4: a 429 keeps its header and states the wait', () => {
  const body = { detail: 'Wait {retry_after} s.', seconds: '{retry_after}' };
  const twin = worded({ throttled: { body } });
  for (let sends = 0; sends < 120; sends += 1) twin.send();
  const { status, json, headers } = twin.send();
  expect({ status, json }).toEqual({ status: 429, json: { detail: 'Wait 60 s.', seconds: 60 } });
  expect(headers['retry-after']).toBe('60');
});

test('a refusal without a template of its own has that of `error`', () => {
  const error = { body: { title: '{detail}', code: '{code}', status: '{status}' } };
  const twin = worded({ error });
  expect(twin.send({ from: unknownNumber }).json).toMatchObject({
    code: 'from_number_not_found',
    status: 403,
  });
  expect(twin.read('none').body).toBe('{"detail":"Not found."}');
});

test('404s of messages, devices, pages and paths may differ', () => {
  const twin = worded({
    not_found: { body: 'message' },
    path_not_found: { body: 'no {path}' },
    device_not_found: { body: 'device' },
  });
  expect(twin.read('none').body).toBe('"message"');
  expect(twin.request('GET', '/none/').body).toBe('"no /none/"');
  expect(twin.request('GET', '/api/devices/none/tasks/').body).toBe('"device"');
  const page = twin.request('GET', '/api/v1/sms/received/', { query: 'page=9' });
  expect(page.body).toBe('"message"');
});

test('a header is added, filled in or removed', () => {
  const twin = worded({
    method_not_allowed: { headers: { allow: '{allow}, OPTIONS' } },
    invalid_key: { headers: { 'www-authenticate': null, 'content-type': 'text/plain' } },
  });
  const other = twin.request('PUT', '/api/v1/account/stats/');
  expect(other.headers).toEqual({ allow: 'GET, HEAD, OPTIONS' });
  const refused = twin.request('GET', '/api/v1/account/stats/', { authorization: undefined });
  expect(refused.headers).toEqual({ 'content-type': 'text/plain' });
});

test('figures and lists take the shape of their templates', () => {
  const twin = worded({
    stats: { body: { total: '{accepted}', left: '{quota_left}' } },
    received: { body: { data: '{items}', of: '{count}' } },
  });
  twin.send();
  expect(twin.request('GET', '/api/v1/account/stats/').json).toEqual({ total: 1, left: 9_999 });
  expect(twin.request('GET', '/api/v1/sms/received/').json).toEqual({ data: [], of: 0 });
});

test('a list within a longer text is its JSON', () => {
  const twin = worded({
    received: { body: { all: 'all: {items}' } },
    tasks: { text: '"<{items}>"' },
  });
  expect(twin.request('GET', '/api/v1/sms/received/').json).toEqual({ all: 'all: []' });
  const tasks = `/api/devices/${twin.device().deviceId}/tasks/`;
  expect(twin.request('GET', tasks).json).toBe('<[]>');
});

test('the same requests are answered with the same ids and times', () => {
  const template: ReplyTemplates = { not_found: { body: { id: '{uuid}', at: '{now}' } } };
  const [one, other] = [worded(template).read('none'), worded(template).read('none')];
  expect(one.body).toBe(other.body);
  expect(one.json['id']).toMatch(/^[0-9a-f-]{36}$/);
});

test.each([
  ['a status that the document states', { invalid_key: { status: 403 } }, 'states the status'],
  ['a 400 that names no field', { invalid_field: { body: {} } }, 'SEND-5'],
  ['a 429 that states no wait', { throttled: { body: { detail: 'Later.' } } }, 'ERR-4'],
  ['a placeholder of another reply', { not_found: { body: '{retry_after}' } }, '{retry_after}'],
  ['a misspelt placeholder', { invalid_field: { body: '{feild} {field}' } }, '{feild}'],
  ['a body and a text', { not_found: { body: 1, text: 'a' } }, 'not both'],
  ['a body for a message', { message: { body: {} } }, 'RES-1'],
  ['an entry without a list', { tasks: { body: {}, item: {} } }, '{items}'],
  ['a Retry-After', { throttled: { headers: { 'retry-after': '1' } } }, 'a template cannot set'],
  ['too long a template', { not_found: { text: 'x'.repeat(20_000) } }, 'at most 16384'],
])('refuses %s', (_, templates, why) => {
  const reading = replyTemplatesSchema.safeParse(templates);
  expect(reading.error?.issues.map(({ message }) => message).join()).toContain(why);
});

test.each([
  [
    { invalid_feild: {} },
    'replyTemplates.invalid_feild: no reply is named "invalid_feild"; use one of error, invalid_field,',
  ],
  [{ stats: { bodi: 1 } }, 'replyTemplates.stats.bodi: this key is not known here'],
  [{ not_found: { status: 404 } }, 'replyTemplates.not_found.status: the document states'],
  ['none', 'replyTemplates: expected an object of templates'],
])('a mistake is named with its path: %j', (replyTemplates, line) => {
  const given = { assumptions: { replyTemplates } } as never;
  expect(() => parseSettings(given)).toThrow(line);
});
