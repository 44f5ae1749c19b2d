/**
 * Hostile values in every part of a request: each reply equals the model's, is a documented 4xx or
 * accepts the value as data, and is never a 500. Rules: SEND-2, SEND-5, SEND-6, RES-3, READ-2,
 * AUTH-3, SVC-4.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { anyCharacter, runs } from '../testkit/runs.ts';
import { numbers, Scene } from '../testkit/twin/scene.ts';
import { assumptionsArbitrary } from './random-runs.ts';

const texts: readonly string[] = Object.values({
  whitespace: ['', ' ', '\n', '\r\n', '\t'],
  invisible: ['\0', '\u007f', '\u200b', '\u202e', '\ufeff', '\uffff'],
  halvesOfPairs: ['\ud800', '\udfff', 'a\ud83d', '\ude00b', '\ud800'.repeat(1600)],
  severalUnits: ['👋', '👨‍👩‍👧', 'e\u0301', 'ẞ', '٣', '１２', 'İ'],
  members: [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    'length',
  ],
  literals: [
    'null',
    'undefined',
    'NaN',
    '[object Object]',
    'true',
    '0',
    '-1',
    '1e309',
    '0x10',
    'now',
  ],
  injections: ["' OR 1=1 --", '<script>', '$(id)', '{{7*7}}', '../../etc/passwd', '%00', '%2e%2e'],
  punctuation: ['\\', '"', '+'],
  shortNumbers: ['+0', '+1', '++1', '+1\n', '+1.2e5'],
  numbersAndMore: ['+12025550150\0', '+12025550150\n', ' +12025550150', 'tel:+12025550150'],
  longNumbers: [`+${'9'.repeat(15)}`, `+${'1'.repeat(10_000)}`],
  numbersInOtherDigits: ['+٠١٢٣٤٥٦٧٨٩', '+１２０２５５５０１５０'],
  timesWithoutZone: ['2026-01-15', '2026-01-15T10:00:00'],
  timesInOtherForms: [
    '2026-01-15T10:00:00z',
    '2026-W03-4T10:00:00Z',
    '20270115T100000Z',
    '2027-01-01t00:00:00Z',
    '2027-01-01 00:00:00Z',
    '2027-01-01T00:00Z',
  ],
  farYears: [
    '+275760-09-13T00:00:00Z',
    '275760-09-13T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
    '10000-01-01T00:00:00Z',
    '-002027-01-01T00:00:00Z',
  ],
  fractionsOfSeconds: [
    '2027-01-01T00:00:00.Z',
    '2027-01-01T00:00:00,5Z',
    '2027-01-01T00:00:00.123456789123456789Z',
  ],
  noSuchTimes: ['2027-02-30T00:00:00Z', '2027-01-01T00:00:00+99:99', '2027-01-01T00:00:00−01:00'],
  long: [
    'x'.repeat(1600),
    'x'.repeat(1601),
    'x'.repeat(60_000),
    '👋'.repeat(15_000),
    `e${'\u0301'.repeat(20_000)}`,
    '\0'.repeat(9000),
  ],
}).flat();

const values: readonly unknown[] = Object.values({
  texts,
  literals: [null, true, false],
  numbers: [0, -0, 1, -1, 0.1, 1e308, 2 ** 53, 12025550150],
  lists: [[], [[]], [null], ['+12025550150'], Array(3000).fill(0)],
  objects: [{}, { a: 1 }, { $ne: null }],
  objectsLikeOthers: [{ length: 3 }, { toString: 1 }, { valueOf: null }, { toJSON: 'x' }],
  prototypes: [
    JSON.parse('{"__proto__":{"admin":true}}'),
    JSON.parse('{"constructor":{"prototype":{"admin":true}}}'),
  ],
  deep: [JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`)],
}).flat();

const fieldNames = ['to', 'from', 'from_number', 'message', 'request_id', 'send_at'] as const;

function expectProper(reply: ApiReply): void {
  expect([200, 202, 301, 400, 401, 402, 403, 404, 405, 409, 413, 415, 429, 503]).toContain(
    reply.status,
  );
  expect(() => JSON.parse(reply.body)).not.toThrow();
  // No text of a request may inject a header.
  for (const value of Object.values(reply.headers ?? {})) expect(value).toMatch(/^[ -~]*$/);
}

/** A scene without limits and quotas, so that requests reach every gate. */
function unlimited(): Scene {
  const scene = new Scene({ monthlyQuota: 'unlimited' });
  for (const endpoint of [
    'send',
    'dashboard_send',
    'external_send',
    'received',
    'tasks',
  ] as const) {
    scene.limit(endpoint, null);
  }
  return scene;
}

test.each(fieldNames)('SEND-5 hostile values of `%s` are refused or kept as data', (field) => {
  const scene = unlimited();
  for (const via of ['send', 'dashboard_send', 'external_send'] as const) {
    for (const value of values) {
      const from = field === 'from_number' ? { from: undefined } : {};
      const reply = scene.send({ ...from, [field]: value }, { via });
      expectProper(reply);
      if (reply.status === 202) expectProper(scene.read(reply));
    }
  }
  scene.checkWholeState();
  scene.stop();
});

test('SEND-5 hostile names of fields are ignored or named', () => {
  const scene = unlimited();
  for (const unknownFields of ['ignore', 'reject'] as const) {
    for (const errorBody of ['code_detail', 'field_map', 'nested'] as const) {
      for (const [name, answer] of Object.entries({ unknownFields, errorBody }))
        scene.play({ kind: 'assume', name: name as 'errorBody', answer });
      for (const text of texts) {
        if ((fieldNames as readonly string[]).includes(text)) continue;
        const usual = { to: '+12025550150', from: numbers.ada, message: 'hello' };
        const body = JSON.stringify(usual).replace('}', `,${JSON.stringify(text)}:1}`);
        const reply = scene.send({}, { changes: { body } });
        expectProper(reply);
        expect(reply.status).toBe(unknownFields === 'ignore' ? 202 : 400);
      }
    }
  }
  scene.stop();
});

test('SVC-4 hostile bodies are refused', () => {
  const scene = unlimited();
  const bodies: readonly (string | Uint8Array)[] = Object.values({
    texts,
    values: values.map((value) => JSON.stringify(value)),
    cutOff: ['{', '}', '{"to"', '{"to":}', '{"to":1,}'],
    notQuiteJson: ['{to:1}', "{'to':1}", '{"a":01}', '{"a":NaN}', '{"a":"\\x"}', '{"a":"\n"}', '-'],
    moreThanOneValue: ['/**/{}', '{}{}', '\ufeff{}', '{"to":"a","to":"b"}'],
    withoutValue: ['{"\\u0000":1}', '1e999', '{"a":1e999}', '{"a":-1e999}', '"\\ud800"'],
    deep: ['['.repeat(65_536), '{"a":'.repeat(13_000)],
    manyEscapes: [`{"message":"${'\\u0000'.repeat(10_000)}"}`],
    notUtf8: [
      new Uint8Array([0xff]),
      new Uint8Array([0xc0, 0x80]),
      new Uint8Array([0xed, 0xa0, 0x80]),
      new Uint8Array([0xf5, 0x80, 0x80, 0x80]),
      new Uint8Array([0x7b, 0x7d, 0xfe]),
    ],
    marked: [new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])],
    zeros: [new Uint8Array(65_536), new Uint8Array()],
  }).flat();
  for (const body of bodies) {
    const reply = scene.send({}, { changes: { body } });
    expectProper(reply);
    expect(reply.status).toBe(400);
  }
  scene.stop();
});

test('hostile paths, methods, queries and headers get the reply of their gate', () => {
  const scene = unlimited();
  const accepted = scene.send();
  const path = `/api/v1/sms/${JSON.parse(accepted.body).message_id}/`;
  const isHeaderText = (text: string) => /^[\t -~\u0080-\u00ff]*$/.test(text);
  // As in a request line, paths and queries are printable ASCII.
  for (const text of texts.filter((each) => /^[!-~]*$/.test(each))) {
    expectProper(scene.get(`/api/v1/sms/${text}/`));
    expectProper(scene.get(`/api/devices/${text}/tasks/`));
    expectProper(scene.get(`/${text}`));
    expectProper(scene.get(path, { changes: { query: text } }));
    for (const name of ['page', 'page_size']) {
      const query = `${name}=${text.replaceAll(/[&+%#;=]/g, '')}`;
      expectProper(scene.get('/api/v1/sms/received/', { changes: { query } }));
    }
  }
  for (const text of texts.filter(isHeaderText)) {
    const headers: readonly Partial<ApiRequest>[] = [
      { authorization: text },
      { authorization: `Bearer ${text}` },
      { contentType: text },
      { contentEncoding: text },
      { forwardedFor: text },
      { method: text },
    ];
    for (const changes of headers) {
      expectProper(scene.get(path, { changes }));
      expectProper(scene.get('/api/v1/sms/received/', { changes }));
    }
    expectProper(scene.send({}, { changes: { contentType: text } }));
    expectProper(scene.send({}, { changes: { contentEncoding: text } }));
  }
  scene.stop();
});

test('RES-3 any accepted text is returned unchanged', () => {
  const scene = unlimited();
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 100 }),
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 300 }),
      (requestId, message) => {
        const reply = scene.send({ request_id: requestId, message, from: numbers.adaExternal });
        const tasks = scene.get(`/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`);
        if (reply.status !== 202) return;
        expect(JSON.parse(reply.body).request_id).toBe(requestId);
        expect(JSON.parse(tasks.body).tasks[0].message).toBe(message);
      },
    ),
    { numRuns: runs(8) },
  );
  scene.stop();
});

test('any JSON, under any answers, gets the reply that the model expects', () => {
  fc.assert(
    fc.property(
      assumptionsArbitrary,
      fc.array(
        fc.record(
          Object.fromEntries(
            fieldNames.map((name) => [
              name,
              fc.oneof(
                fc.constantFrom(...values),
                fc.jsonValue({ stringUnit: anyCharacter }),
                fc.constant(numbers.ada),
              ),
            ]),
          ),
          { requiredKeys: [] },
        ),
        { minLength: 1, maxLength: 8 },
      ),
      (assumptions, bodies) => {
        const scene = new Scene(assumptions);
        try {
          for (const body of bodies) {
            const text = JSON.stringify(body);
            // The transport refuses longer bodies.
            if (Buffer.byteLength(text) > 60_000) continue;
            expectProper(scene.send({}, { changes: { body: text } }));
            expectProper(scene.send(body));
          }
          scene.checkWholeState();
        } finally {
          scene.stop();
        }
      },
    ),
    { numRuns: runs(20) },
  );
});
