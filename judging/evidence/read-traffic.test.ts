/** The readers of recorded traffic: any division of a text into pieces gives the same events. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import type { NoticeTaker, TrafficEvent } from '#contract/exchange.ts';
import { TrafficJudge } from '../recorded/judge-recorded.ts';
import { KnownExchanges } from './copies.ts';
import { SteadyClocks } from './file-clocks.ts';
import { FileReading } from './file-reading.ts';
import { listsOfText, readTraffic } from './read-traffic.ts';
import { KeyNames } from './reading.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-pieces-'));
afterAll(() => rmSync(folder, { recursive: true }));

const at = '2026-01-01T00:00:00.000Z';
const path = '/api/v1/sms/send/';
const texts = ['Grüße, 你好 👋🏽', '"}\\', '\r\n', '{"entries": [', 'x'.repeat(300)];

function recordedLine(body: string): string {
  const request = { method: 'POST', path, headers: {}, body };
  const reply = { status: 202, headers: {}, body: '{}' };
  return JSON.stringify({ sent: at, answered: at, client: 'address:1', request, reply });
}

function harEntry(text: string): object {
  return {
    startedDateTime: at,
    time: 1,
    // An object in one of the entries begins as an entry does.
    timings: { send: [text, { [text === '\r\n' ? 'startedDateTime' : 'wait']: null }] },
    request: {
      method: 'POST',
      url: `http://h${path}`,
      headers: [],
      postData: { text },
      bodySize: 1,
    },
    response: { status: 202, headers: [], content: { text } },
  };
}

const log = { creator: { name: texts[3] }, entries: texts.map(harEntry), pages: texts };
const files = [
  texts.map(recordedLine).join('\n'),
  `${texts.map(recordedLine).join('\r\n')}\r\n`,
  `\uFEFF${recordedLine('a')}\n{"sent":"broken"}\n\n${recordedLine('b')}\n`,
  JSON.stringify({ log }),
  JSON.stringify({ log }, null, 4),
  JSON.stringify({ other: { entries: [] }, log: { entries: [] } }),
];

function readingOf(onNotice: NoticeTaker = () => {}) {
  const [keys, clocks, known] = [new KeyNames(), new SteadyClocks(), new KnownExchanges()];
  return new FileReading('week', { onNotice, keys, clocks, known });
}

async function readAs(pieces: readonly string[]) {
  const said: unknown[] = [];
  async function* given() {
    yield* pieces;
  }
  const notice = (...line: readonly unknown[]) => said.push(line);
  try {
    for await (const list of listsOfText(given(), readingOf(notice))) said.push(...list);
  } catch (error) {
    said.push(String(error));
  }
  return said;
}

test('any division of a text into pieces gives the same events, also of a text that was cut off', async () => {
  const cutFile = fc
    .constantFrom(...files)
    .chain((text) => fc.tuple(fc.constant(text), fc.integer({ min: 1, max: text.length })))
    .map(([text, length]) => text.slice(0, length));
  const divided = fc
    .oneof(fc.constantFrom(...files), cutFile)
    .chain((text) => fc.tuple(fc.constant(text), fc.array(fc.nat({ max: text.length }))));
  await fc.assert(
    fc.asyncProperty(divided, async ([text, places]) => {
      const bounds = [0, ...places.sort((a, b) => a - b), text.length];
      const pieces = bounds.slice(1).map((end, index) => text.slice(bounds[index], end));
      const whole = await readAs([text]);
      expect(await readAs(pieces)).toEqual(whole);
      expect(await readAs([...text])).toEqual(whole);
    }),
    { numRuns: 300 },
  );
});

const steady = { process: 'p', sent_ms: 1, answered_ms: 2 };

test.each([
  ['of a connection, with exact times', { connection: '7', steady }, 1],
  ['of a connection, with milliseconds', { connection: '7' }, 2],
  ['without a connection', {}, 2],
])('an equal line after a line %s', async (_, more, expected) => {
  const { reply, ...line } = JSON.parse(recordedLine(''));
  const poll = JSON.stringify({ ...line, ...more, reply: { ...reply, status: 200 } });
  expect(await readAs([`${poll}\n${poll}\n`])).toHaveLength(expected);
});

test('a file whose blocks end within a character is read as it was written', async () => {
  const lines = (shift: number) => [
    recordedLine('y'.repeat(shift)),
    ...Array.from({ length: 8 }, (_, index) => recordedLine(`${index} ${'👋'.repeat(5_000)}`)),
  ];
  for (const shift of [0, 1, 2, 3]) {
    const file = join(folder, `${shift}`);
    const text = lines(shift).join('\r\n');
    for (const content of [Buffer.from(text), gzipSync(text)]) {
      writeFileSync(file, content);
      const bodies: unknown[] = [];
      for await (const events of readTraffic([file], () => {}))
        bodies.push(...events.map((event) => (event === 'cut' ? event : event.body)));
      expect(bodies).toEqual(lines(shift).map((line) => JSON.parse(line).request.body));
    }
  }
});

test.each([
  ['a line', '{"sent":"'],
  ['a line of a journal', '{"journal":'],
  ['an entry', '{"log":{"entries":[{"comment":"'],
  ['the text before the entries', '{"log":{"comment":"'],
  ['the text after the entries', '{"log":{"entries":[],"comment":"'],
])('%s without an end is refused by the bound, and no more of it is read', async (_, start) => {
  const piece = 'x'.repeat(65_536);
  let pulled = 0;
  async function* endless() {
    yield start;
    for (;;) {
      pulled++;
      yield piece;
    }
  }
  const lists = listsOfText(endless(), readingOf());
  await expect(lists.next()).rejects.toThrow(/week: .* has more than 67108864 characters/);
  expect(pulled).toBe(1_024);
});

test.each([
  ['at once', 'of two tools', 0, 1],
  ['within the difference of two clocks', 'of two tools', 60_000, 1],
  ['an hour apart', 'of two tools', 3_600_000, 2],
  ['at once', 'with two replies', 0, 2],
])('one message that was accepted %s in files %s', async (_, kind, laterMs, expected) => {
  const later = new Date(Date.parse(at) + laterMs).toISOString();
  const line = JSON.parse(recordedLine('hello'));
  if (kind === 'of two tools') line.reply.body = 'hello';
  const named = [join(folder, 'proxy.ndjson'), join(folder, 'browser.har')] as const;
  writeFileSync(named[0], `${JSON.stringify(line)}\n`);
  const entry = { ...harEntry('hello'), startedDateTime: later };
  writeFileSync(named[1], JSON.stringify({ log: { entries: [entry] } }));
  const said: string[] = [];
  let count = 0;
  for await (const events of readTraffic(named, (notice) => said.push(notice)))
    count += events.length;
  expect(count).toBe(expected);
  expect(said).toEqual(expected === 1 ? ['1 exchange read twice; counted once'] : []);
});

test.each([
  ['two clients', 'hello', 'good-bye', 0, 4, 1],
  ['one client, which both tools recorded', 'hello', 'hello', 0, 2, 0],
  ['one client, by two clocks', 'hello', 'hello', 5_000, 3, 1],
  ['two clients, an hour apart', 'hello', 'good-bye', 3_600_000, 4, 0],
])('equal polls of %s are counted', async (_, ofProxy, ofBrowser, laterMs, expected, doubtful) => {
  const poll = { method: 'GET', path: '/api/v1/tasks/', headers: {}, body: '' };
  const recorded = JSON.parse(recordedLine(ofProxy));
  recorded.reply.body = ofProxy;
  const polled = { ...recorded, request: poll, reply: { ...recorded.reply, body: '[]' } };
  const entry = harEntry(ofBrowser);
  const entries = [
    entry,
    {
      startedDateTime: new Date(Date.parse(at) + laterMs).toISOString(),
      time: 1,
      request: { method: 'GET', url: 'http://h/api/v1/tasks/', headers: [] },
      response: { status: 202, headers: [], content: { text: '[]' } },
    },
  ];
  const named = [join(folder, 'proxy.ndjson'), join(folder, 'browser.har')] as const;
  writeFileSync(named[0], [recorded, polled].map((line) => JSON.stringify(line)).join('\n'));
  writeFileSync(named[1], JSON.stringify({ log: { entries } }));
  const said: string[] = [];
  const events: TrafficEvent[] = [];
  for await (const list of readTraffic(named, (line) => said.push(line))) events.push(...list);
  expect(events).toHaveLength(expected);
  const mayBeCopies = events.filter((event) => event !== 'cut' && event.mayBeCopy);
  expect(mayBeCopies).toHaveLength(doubtful);
  expect(said.filter((line) => line.includes('may be in two files'))).toHaveLength(doubtful);
});

test('a line of a recording whose headers are no texts is refused by name', async () => {
  const line = JSON.parse(recordedLine('hello'));
  line.reply.headers = { 'retry-after': 7 };
  const file = join(folder, 'numbers.ndjson');
  writeFileSync(file, `${recordedLine('hello')}\n${JSON.stringify(line)}\n`);
  const said: string[] = [];
  let count = 0;
  for await (const events of readTraffic([file], (notice) => said.push(notice)))
    count += events.length;
  expect([count, said]).toEqual([1, [expect.stringContaining('line 2')]]);
});

test('polls that two tools may both have recorded exceed no limit, and those of one tool do', async () => {
  const key = 'Bearer key:0123456789ab';
  const limits = async (perMinute: number) => {
    const judge = new TrafficJudge({ isComplete: true, joined: [], rules: ['LIMIT-4'] });
    const files = ['a', 'b'].map((process) => {
      const file = join(folder, `${process}.ndjson`);
      const lines = Array.from({ length: 3 * perMinute }, (_, nth) => {
        const time = new Date(Date.parse(at) + (nth * 60_000) / perMinute).toISOString();
        const reply = { status: 200, headers: { date: new Date(time).toUTCString() }, body: '[]' };
        const headers = { authorization: key };
        const request = { method: 'GET', path: '/api/v1/sms/received/', headers, body: '' };
        const steady = { process, sent_ms: Date.parse(time), answered_ms: Date.parse(time) + 2 };
        return JSON.stringify({ sent: time, answered: time, steady, client: 'c', request, reply });
      });
      writeFileSync(file, lines.join('\n'));
      return file;
    });
    for await (const events of readTraffic(files, () => {}))
      for (const one of events) judge.take(one);
    judge.end();
    return judge.findings.get('LIMIT-4')?.broken !== undefined;
  };
  expect([await limits(100), await limits(200)]).toEqual([false, true]);
});

test('a text that shows a key which another one begins shows nothing of it', () => {
  const keys = new KeyNames();
  for (const key of ['key-of-acme', 'key-of-acme-1zq7']) keys.named(`Bearer ${key}`);
  expect(keys.hiddenIn('{"detail":"key-of-acme-1zq7"}')).toMatch(
    /^\{"detail":"key:[0-9a-f]{12}"\}$/,
  );
});

test('the name of a key stays whole, whatever other keys are', () => {
  const keys = new KeyNames();
  for (const key of ['acme-1zq7', 'key', 'e', '1']) keys.named(`Bearer ${key}`);
  expect(keys.hiddenIn('acme-1zq7')).toMatch(/^key:[0-9a-f]{12}$/);
});
