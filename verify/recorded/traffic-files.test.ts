/**
 * Files as real tools write them, read by the one reader: HAR files of Firefox, Charles, Proxyman
 * and Playwright, and files that hold no traffic of the service at all.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { referee } from '#cli/referee/referee.ts';
import { conform } from '#conformance/main.ts';
import { CommandError } from '#io/command-error.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import { Simulator } from '#src/simulator.ts';
import { sendBy } from '../testkit/twin/twin.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Said {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** What both commands say about a file of this name and content. */
async function run(command: 'referee' | 'conform', name: string, content: string | Buffer) {
  const file = join(folder, name);
  writeFileSync(file, content);
  const said = { code: 0, out: '', error: '' };
  const out = (text: string) => {
    said.out += text;
  };
  const error = (text: string) => {
    said.error += text;
  };
  try {
    said.code =
      command === 'referee'
        ? await referee([file], { out, error, env: {}, version: '1' })
        : await conform(['--traffic', file], { out, error, env: {}, readTraffic });
  } catch (thrown) {
    if (!(thrown instanceof CommandError)) throw thrown;
    return { ...said, code: thrown.exitCode, error: thrown.lines.join('\n') };
  }
  return said satisfies Said;
}

const commands = ['referee', 'conform'] as const;

const json = 'application/json';
const sent = '{"to":"+12025550123","from":"+12025550101","message":"Hi","request_id":"a"}';
const accepted = JSON.stringify({
  status: 'queued',
  message_id: '11111111-1111-4111-8111-111111111111',
  request_id: 'a',
  device_id: '33333333-3333-4333-8333-333333333333',
  from_number: '+12025550101',
  to: '+12025550123',
  created_at: '2026-03-02T09:00:31.010Z',
});
const throttled = '{"detail":"Request was throttled. Expected available in 30 seconds."}';
const bearer = { name: 'Authorization', value: `Bearer smst_${'Ab1'.repeat(13)}x` };

interface Shape {
  readonly at: (second: number) => string;
  readonly entry?: object;
  readonly body?: (text: string) => object;
  readonly content?: (text: string) => object;
  readonly headers?: boolean;
}

/** A client that is throttled and retries 10 seconds later, which is 20 seconds early. */
function harOf({ at, entry, body, content, headers = true }: Shape): string {
  const exchanges = [
    { second: 20, status: 429, text: throttled, wait: [{ name: 'Retry-After', value: '30' }] },
    { second: 30, status: 202, text: accepted, wait: [] },
  ];
  const entries = exchanges.map(({ second, status, text, wait }) => ({
    startedDateTime: at(second),
    time: 12,
    request: {
      method: 'POST',
      url: 'https://sms.example/api/v1/sms/send/',
      httpVersion: 'HTTP/1.1',
      headers: [bearer, { name: 'Content-Type', value: json }],
      bodySize: sent.length,
      postData: { mimeType: json, ...(body?.(sent) ?? { text: sent }) },
    },
    response: {
      status,
      headers: headers ? [{ name: 'Content-Type', value: json }, ...wait] : [],
      content: { size: text.length, mimeType: json, ...(content?.(text) ?? { text }) },
    },
    cache: {},
    timings: { send: 0, wait: 12, receive: 0 },
    ...entry,
  }));
  return JSON.stringify({ log: { version: '1.2', creator: { name: 'x', version: '1' }, entries } });
}

const base64 = (text: string) => ({
  text: Buffer.from(text).toString('base64'),
  encoding: 'base64',
});
const milliseconds = (second: number) => `2026-03-02T10:00:${second}.250+01:00`;

/** What a tool writes, and whether it shows that the retry was early. */
const tools: readonly (readonly [tool: string, shape: Shape, isFound: boolean])[] = [
  ['Firefox', { at: milliseconds, entry: { pageref: 'page_1', connection: '443' } }, true],
  ['Charles', { at: milliseconds, body: base64, content: base64 }, true],
  ['Proxyman, in whole seconds', { at: (second) => `2026-03-02T09:00:${second}Z` }, true],
  ['a tool that keeps no headers of replies', { at: milliseconds, headers: false }, false],
];

describe.each(commands)('%s', (command) => {
  test.each(tools)('a HAR file of %s is read, whatever its name', async (tool, shape, isFound) => {
    const text = harOf(shape);
    for (const [name, content] of [
      ['session.json', text],
      ['SESSION.HAR', `\uFEFF${text}`],
      ['session', gzipSync(text)],
    ] as const) {
      const { code, out, error } = await run(command, name, content);
      expect([tool, error]).toEqual([tool, '']);
      expect(out).toContain('2 exchanges');
      if (command === 'referee')
        expect([out.includes('FAILED  CLIENT-1'), code]).toEqual([isFound, isFound ? 1 : 0]);
      else expect(out).not.toContain('FAILED');
    }
  });

  test('bodies in files beside a HAR file are unknown, and said to be', async () => {
    const content = () => ({ _file: 'a1b2.json' });
    const { code, out, error } = await run(
      command,
      'trace.har',
      harOf({ at: milliseconds, content }),
    );
    expect(error).toContain('2 bodies not read: they are in other files (_file); embed them');
    expect([code === 2, out.includes('FAILED  CLIENT-9')]).toEqual([false, false]);
  });

  test('a gzipped journal is read', async () => {
    const simulator = new Simulator({ clock: 'manual' });
    sendBy(simulator, 0, { request_id: 'a' });
    const { out, error } = await run(command, 'run.gz', gzipSync(simulator.journalText()));
    expect([out.includes('1 exchange'), error]).toEqual([true, '']);
  });

  test('a file without the service says which hosts and paths it has', async () => {
    const text = harOf({ at: milliseconds }).replaceAll(/sms.example[^"]*/g, 'cdn.example/app.js');
    const { code, error } = await run(command, 'page.har', text);
    expect(error).toContain('page.har: 2 requests, none with a path of the service such as');
    expect(error).toContain('2 to cdn.example: POST /app.js');
    expect(code).toBe(4);
  });

  test.each(foreignFiles())('%s is named', async (what, content) => {
    const { code, error } = await run(command, 'given', content);
    expect(error).toContain(`given: it is ${what}`);
    expect(error).toContain('expected a journal, a recording of smstwin record or a HAR 1.2 file');
    expect(code).toBe(2);
  });
});

function foreignFiles(): readonly (readonly [what: string, content: string | Buffer])[] {
  const bytes = (hex: string) => Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(64)]);
  const zip = (name: string) =>
    Buffer.concat([bytes('504b0304').subarray(0, 30), Buffer.from(name)]);
  return [
    ['empty', ''],
    ['empty', '\n\n'],
    [
      'an access log',
      '127.0.0.1 - - [02/Mar/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 2 "-" "curl"\n',
    ],
    ['an access log', '{"time_local":"02/Mar/2026","request":"GET / HTTP/1.1","status":"200"}\n'],
    ['a Postman collection', '{"info":{"_postman_id":"1","name":"SMS"},"item":[]}'],
    ['an OpenAPI document', '{"openapi":"3.1.0","info":{"title":"SMS"}}'],
    ['an OpenAPI document', 'openapi: 3.1.0\ninfo:\n  title: SMS\n'],
    ['a mapping of WireMock', '{"request":{"url":"/a"},"response":{"status":200}}'],
    ['a trace of Playwright', '{"version":8,"type":"context-options","browserName":"chromium"}\n'],
    ['a trace of Playwright', zip('trace.trace')],
    ['a zip archive (har.har', zip('har.har')],
    ['the results of k6', '{"type":"Metric","data":{"name":"http_reqs"},"metric":"http_reqs"}\n'],
    ['a journal without its first line', '{"at":"2026-01-01","reply":{"status":202}}\n'],
    ['an intents file', '{"intent":"order-1","to":"+12025550123"}\n'],
    ['a session of Charles', '[{"status":"COMPLETE","method":"POST","durations":{"total":12}}]'],
    ['a JSON list', '[{"a":1}]'],
    ['JSON of another kind (its members are a, b)', '{"a":1,"b":{}}'],
    ['a CSV file', 'time,method,path\n1,GET,/a\n'],
    ['a CSV file', 'time;method;path\n1;GET;/a\n'],
    ['an HTML page', '<!DOCTYPE html><html></html>'],
    ['an XML file', '<?xml version="1.0"?><testResults/>'],
    ['a transcript of HTTP', '> POST /api/v1/sms/send/ HTTP/1.1\n> Host: a\n'],
    ['a flow file of mitmproxy', '1290:7:version;2:21#4:type;4:http;'],
    ['a packet capture (pcap)', bytes('d4c3b2a1')],
    ['a packet capture (pcapng)', bytes('0a0d0d0a')],
    ['compressed with zstd', bytes('28b52ffd')],
    ['text in UTF-16', Buffer.from('\uFEFF{"log":{}}', 'utf16le')],
    ['binary data', bytes('00010203')],
    ['text of another kind', 'hello'],
  ];
}

test('what two simulators answered alike at the same time are two exchanges', async () => {
  // With one seed, both lines are the same, as after a restart from a snapshot.
  const starts = [{ seed: 1 }, { seed: 2 }, { seed: 1, noLimits: true }];
  const journals = starts.map((start, i) => {
    const simulator = new Simulator({ clock: 'manual', ...start });
    sendBy(simulator, 0, { from: '+12025550101', message: '' });
    const file = join(folder, `run-${i}.ndjson`);
    writeFileSync(file, simulator.journalText());
    return file;
  });
  const said: string[] = [];
  const read = async (files: readonly string[]) => {
    const events: unknown[] = [];
    for await (const list of readTraffic(files, (line) => said.push(line))) events.push(...list);
    return events;
  };
  const events = await read(journals);
  expect(events).toMatchObject(journals.map(() => ({ reply: { status: 400 } })));
  expect(events.filter((event) => Object(event).mayBeCopy)).toEqual([]);
  expect(said).toEqual([]);
  // A copy of a journal is known all the same.
  expect(await read([...journals.slice(0, 1), ...journals])).toHaveLength(journals.length);
});
