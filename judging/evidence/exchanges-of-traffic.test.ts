/**
 * HAR files as browsers and proxies write them.
 */
import { expect, test } from 'vitest';
import { exchangesOfHar, readText } from '#verify/testkit/traffic-text.ts';
import { judge } from '../client/judge.ts';

const key = `smst_${'Ab1'.repeat(13)}x`;
const send = 'https://sms.example/api/v1/sms/send/';
const body = '{"to":"+12025550123","from":"+12025550101","message":"Hi","request_id":"a"}';

interface Line {
  readonly at: string;
  readonly url?: string;
  readonly method?: string;
  readonly request?: object;
  readonly response?: object;
  readonly time?: unknown;
}

function entry({ at, url = send, method = 'POST', request, response, time = 10 }: Line) {
  const headers = [{ name: 'authorization', value: `Bearer ${key}` }];
  const postData = method === 'POST' ? { mimeType: 'application/json', text: body } : undefined;
  return {
    startedDateTime: at,
    time,
    request: { method, url, headers, postData, ...request },
    response: { status: 202, headers: [], content: { text: '{"message_id":"m-1"}' }, ...response },
  };
}

function read(...lines: readonly Line[]) {
  return exchangesOfHar(JSON.stringify({ log: { entries: lines.map(entry) } }));
}

async function brokenBy(...lines: readonly Line[]) {
  const { exchanges, otherReadings } = await readText(
    JSON.stringify({ log: { entries: lines.map(entry) } }),
  );
  const { rules } = judge(exchanges, { otherReadings });
  return rules.filter(({ findings }) => findings.length > 0).map(({ id }) => id);
}

const wait = (seconds: number) => [{ name: 'Retry-After', value: String(seconds) }];
const refused = { status: 429, headers: [{ name: 'Retry-After', value: '2' }], content: {} };

test('fractions of a second are read, entries are sorted by their time', async () => {
  const exchanges = await read(
    { at: '2026-01-01T00:00:02.500999+00:00' },
    { at: '2026-01-01T01:00:00.250+01:00', response: refused },
  );
  expect(exchanges.map(({ sentAt }) => sentAt % 60_000)).toEqual([250, 2_500]);
  expect(exchanges.map(({ reply }) => reply.status)).toEqual([429, 202]);
});

test('CLIENT-16 a recording names the key, with escapes in an address and in a form', async () => {
  const line = (path: string, body = '{}') => ({
    sent: '2026-01-01T00:00:00.000Z',
    answered: '2026-01-01T00:00:00.010Z',
    client: 'address:5f0c2a9be1d4',
    request: {
      method: 'POST',
      path,
      headers: { authorization: 'Bearer key:0d9c3b7a6f21' },
      body,
    },
    reply: { status: 202, headers: {}, body: '{}' },
  });
  const shown = [
    line('/api/v1/sms/send/?api_key=key%3A0d9c3b7a6f21'),
    line('/api/v1/sms/key%3a0d9c3b7a6f21/'),
    line('/api/v1/sms/send/', '{"message":"key:0d9c3b7a6f21"}'),
    line('/api/v1/sms/send/', 'message=Hi&token=key%3A0d9c3b7a6f21'),
    line('/api/v1/sms/send/?token=key%3Affffffffffff'),
  ];
  for (const [at, each] of shown.entries()) {
    const { exchanges } = await readText(`${JSON.stringify(each)}\n`);
    expect(exchanges[0]?.showsKey).toBe(at < 4);
  }
});

test('a wrong path before the first request of the service is judged, too', async () => {
  const url = `https://sms.example/api/v1/sms/${key}/send/`;
  const exchanges = await read(
    { at: '2026-01-01T00:00:00Z', url },
    { at: '2026-01-01T00:00:01Z', url: 'https://other.example/api/v1/things/' },
    { at: '2026-01-01T00:00:02Z' },
  );
  expect(exchanges.map(({ showsKey }) => showsKey)).toEqual([true, false]);
});

test('CLIENT-1 a retry is early by the recorder\u2019s clock', async () => {
  const first = { at: '2026-01-01T00:00:00Z', response: refused };
  expect(await brokenBy(first, { at: '2026-01-01T00:00:01.999Z' })).toEqual(['CLIENT-1']);
  expect(await brokenBy(first, { at: '2026-01-01T00:00:02Z' })).toEqual([]);
});

test('CLIENT-17 a 503 that asks for a wait is read, too', async () => {
  const first = { at: '2026-01-01T00:00:00Z', response: { ...refused, status: 503 } };
  expect(await brokenBy(first, { at: '2026-01-01T00:00:01.999Z' })).toEqual(['CLIENT-17']);
  expect(await brokenBy(first, { at: '2026-01-01T00:00:02Z' })).toEqual([]);
});

test('bodies in base64 are read', async () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const [one] = await read({
    at: '2026-01-01T00:00:00Z',
    request: { postData: { mimeType: 'application/json', text: base64(body), encoding: 'base64' } },
    response: { content: { text: base64('{"message_id":"m-2"}'), encoding: 'base64' } },
  });
  expect(one?.fields).toMatchObject({ request_id: 'a' });
  expect(one?.reply.json).toEqual({ message_id: 'm-2' });
});

test.each([
  ['status 0', { status: 0, content: undefined }],
  ['an error of the browser', { _error: 'net::ERR_CONTENT_LENGTH_MISMATCH' }],
  ['half a body', { content: { text: '{"message_id":"m-' } }],
])('%s is a reply that the client did not see', async (_, response) => {
  expect((await read({ at: '2026-01-01T00:00:00Z', response }))[0]?.isSeen).toBe(false);
});

test('a body that was not recorded is one that was seen', async () => {
  expect((await read({ at: '2026-01-01T00:00:00Z', response: { content: {} } }))[0]?.isSeen).toBe(
    true,
  );
});

test('sends without recorded bodies cannot be attributed and fail nothing', async () => {
  const bare = { request: { postData: undefined }, response: { status: 503 } };
  const exchanges = await read(
    { at: '2026-01-01T00:00:00Z', ...bare },
    { at: '2026-01-01T00:00:01Z', ...bare },
  );
  const { rules, intents } = judge(exchanges);
  expect(rules.flatMap(({ findings }) => findings)).toEqual([]);
  expect(intents.unattributable).toBe(2);
});

test('odd durations, missing headers and an aborted preflight are read', async () => {
  const exchanges = await read(
    { at: '2026-01-01T00:00:00Z', time: null, response: { headers: null } },
    { at: '2026-01-01T00:00:00Z', time: -1 },
    { at: '2026-01-01T00:00:00Z', method: 'OPTIONS', response: { status: 0 } },
  );
  expect(exchanges).toHaveLength(2);
});

test('entries that cannot be read are skipped, and the first one is named', async () => {
  const broken = [{ request: { url: undefined } }, { response: { content: { text: 7 } } }];
  const lines = [{}, ...broken, { time: 11 }].map((own) =>
    entry({ at: '2026-01-01T00:00:00Z', ...own }),
  );
  const notices: string[] = [];
  const text = JSON.stringify({ log: { entries: lines } });
  const { exchanges } = await readText(text, 'a/run.har', (line) => notices.push(line));
  expect(exchanges).toHaveLength(2);
  expect(notices).toEqual([
    'run.har: 2 entries cannot be read; skipped: log.entries[1].request.url: is missing: expected a string',
  ]);
});

test('the lost end of a HAR file may hold what came in the midst', async () => {
  const entries = ['01', '05', '03'].map((second) => entry({ at: `2026-01-01T00:00:${second}Z` }));
  const notices: unknown[] = [];
  const text = JSON.stringify({ log: { entries } });
  await readText(text.slice(0, -60), 'run.har', (...said) => notices.push(said));
  expect(notices).toEqual([
    ['run.har: the file is incomplete: its end is cut off; what comes before it is read', 'some'],
  ]);
});

test('other hosts and other paths are left out, a gateway before the path is not', async () => {
  const exchanges = await read(
    {
      at: '2026-01-01T00:00:00Z',
      url: 'https://cdn.example/api/v2/track',
      response: { status: 404 },
    },
    { at: '2026-01-01T00:00:01Z', url: 'https://sms.example/favicon.ico' },
    { at: '2026-01-01T00:00:02Z', url: 'https://sms.example/gw/api/v1/sms/send/?trace=1' },
    { at: '2026-01-01T00:00:03Z', url: 'data:text/plain,x' },
  );
  expect(exchanges.map(({ endpoint, target }) => [endpoint, target])).toEqual([
    ['send', '/api/v1/sms/send/?trace=1'],
  ]);
});

test('an export without keys has one caller', async () => {
  const bare = { request: { headers: [] } };
  const first = { at: '2026-01-01T00:00:00.000Z', response: refused, ...bare };
  expect(await brokenBy(first, { at: '2026-01-01T00:00:01.000Z', ...bare })).toEqual(['CLIENT-1']);
});

test.each([
  ['query', { url: `${send}?api_key=${key}`, request: { headers: [] } }],
  ['body', { request: { postData: { text: body.replace('}', `,"key":"${key}"}`) } } }],
  ['escaped query', { url: `${send}?api_key=${key.replace('_', '%5f')}` }],
  [
    'escaped body',
    {
      request: {
        postData: { text: body.replace('}', `,"key":"${key.replace('_', '\\u005f')}"}`) },
      },
    },
  ],
])('CLIENT-16 a key in the %s is found and not kept', async (_, line) => {
  const exchanges = await read({ at: '2026-01-01T00:00:00Z', ...line });
  expect(exchanges[0]?.showsKey).toBe(true);
  expect(JSON.stringify(exchanges)).not.toContain(key);
});

test('CLIENT-1 a request that was sent before the 429 came is not a retry of it', async () => {
  const slow = { at: '2026-01-01T00:00:00Z', time: 1_500, response: refused };
  expect(await brokenBy(slow, { at: '2026-01-01T00:00:01Z' })).toEqual([]);
});

const odd = 'a "quote", a \\\\, {"entries":[{}], \\';

test.each([
  ['written in one line', (har: object) => JSON.stringify(har)],
  ['written with spaces', (har: object) => JSON.stringify(har, null, 2)],
])('entries are read one by one, whatever is in their texts: %s', async (_, write) => {
  const entries = [1, 2, 3].map((second) => ({
    ...entry({
      at: `2026-01-01T00:00:0${second}Z`,
      request: { postData: { text: JSON.stringify({ message: odd }) }, cookies: [{ url: odd }] },
      response: { content: null },
    }),
    cache: { status: [odd, { status: -1 }], time: null },
  }));
  const text = write({ log: { creator: { name: odd }, entries, pages: [odd] } });
  for (const length of [text.length, 1, 7]) {
    const notices: string[] = [];
    const { exchanges } = await readText(text, 'run.har', (line) => notices.push(line), length);
    expect(exchanges.map((one) => one.fields)).toEqual(entries.map(() => ({ message: odd })));
    expect(notices).toEqual([]);
  }
});

test.each(['', ',', '{}', ']', '}'])(
  'a HAR file that goes on with %j is read whole, or refused',
  async (rest) => {
    const text = JSON.stringify({ log: { entries: [entry({ at: '2026-01-01T00:00:01Z' })] } });
    const read = () => exchangesOfHar(`${text}${rest}`);
    if (rest === '') expect(await read()).toHaveLength(1);
    else await expect(read()).rejects.toThrow('run.har: not JSON; expected a HAR 1.2 file');
  },
);

test('a body that was not saved is unknown: the client is not blamed for what it may have said', async () => {
  const bare = { request: { postData: undefined, bodySize: 70 } };
  const first = { at: '2026-01-01T00:00:00Z', ...bare };
  expect(await brokenBy(first, { ...first, at: '2026-01-01T00:01:00Z' })).toEqual([]);
  const unread = { status: 503, headers: [], content: { size: 41 } };
  // Whatever its body says, a 503 is no end of a message.
  expect(await brokenBy({ at: '2026-01-01T00:00:00Z', response: unread })).toEqual(['CLIENT-9']);
});

test('CLIENT-1 a retry after the clock was set back is not judged by its time', async () => {
  const first = { at: '2026-01-01T00:00:00Z' };
  const refusal = { at: '2026-01-01T00:00:10Z', response: { ...refused, headers: wait(30) } };
  const retry = { at: '2026-01-01T00:00:15Z' };
  const later = {
    at: '2026-01-01T00:00:05Z',
    url: 'https://sms.example/api/v1/account/stats/',
    method: 'GET',
  };
  expect(await brokenBy(first, refusal, retry)).toContain('CLIENT-1');
  expect(await brokenBy(first, refusal, later, retry)).not.toContain('CLIENT-1');
});
