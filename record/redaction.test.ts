/**
 * Redaction by value: what is secret in an exchange is nowhere in its line, however it is written.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { atOnce } from '#io/event-loop.ts';
import type { RecordedLine } from '#judging/evidence/recorded-line.ts';
import { LineMaker } from './line-maker.ts';
import type { Header, PassedExchange } from './passed-exchange.ts';
import { type Redaction, Redactor } from './redaction.ts';

interface Given {
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly sent?: string | Buffer;
  readonly status?: number;
  readonly replyHeaders?: Readonly<Record<string, string>>;
  readonly replied?: string | Buffer;
}

const bearer = 'smst_0123456789abcdefghijABCDEFGHIJ0123456789';

function passed(given: Given): PassedExchange {
  const { target = '/api/v1/sms/send/', headers = {}, replyHeaders = {} } = given;
  const pairs = (all: Readonly<Record<string, string>>): Header[] => Object.entries(all);
  return {
    sentMs: 0,
    steadyMs: [0, 1],
    connection: 1,
    clientIp: '127.0.0.1',
    method: 'POST',
    target,
    requestHeaders: pairs({ Authorization: `Bearer ${bearer}`, ...headers }),
    requestBody: Buffer.from(given.sent ?? ''),
    reply: {
      status: given.status ?? 400,
      headers: pairs(replyHeaders),
      body: Buffer.from(given.replied ?? ''),
    },
    failure: undefined,
    fault: undefined,
  };
}

function lineOf(given: Given, what: readonly Redaction[] = ['numbers', 'text']): RecordedLine {
  return atOnce(new LineMaker('salt', what).make(passed(given)));
}

/** The bodies of an exchange, redacted. */
function bodies(sent: string, replied: string, status: number, target?: string) {
  const line = lineOf({ sent, replied, status, ...(target !== undefined && { target }) });
  return [line.request.body ?? '', line.reply?.body ?? ''] as const;
}

test('a replaced number is as long and as valid, and no two numbers become one', () => {
  const redactor = new Redactor('salt', ['numbers', 'text']);
  const numbers = Array.from({ length: 2_000 }, (_, n) => String(12_025_550_000 + n));
  const replaced = numbers.map((number) => redactor.number(number));
  expect(new Set(replaced).size).toBe(numbers.length);
  expect(replaced.filter((number, at) => number === numbers[at]).length).toBeLessThan(2);
  for (const number of replaced) expect(number).toMatch(/^1202\d{7}$/);
  expect(new Redactor('salt', ['numbers']).number('12025550101')).toBe(replaced[101]);
  expect(new Redactor('other', ['numbers']).number('12025550101')).not.toBe(replaced[101]);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const other = atOnce(redactor.textInSlices(text));
      expect(other.length).toBe(text.length);
      expect(atOnce(redactor.textInSlices(text))).toBe(other);
      expect(other.trim() === '').toBe(text.trim() === '');
    }),
  );
});

test('a body keeps all its bytes but those of the values that are replaced', () => {
  const sent = '{ "to" : "+12025550101",\t"to":"+12025550102", "message":"\\u0041b", "n": 1.0 }';
  const [redacted, replied] = bodies(sent, '{"detail":"+12025550101 is bad"}', 400);
  expect(redacted).toMatch(
    /^\{ "to" : "\+1202\d{7}",\t"to":"\+1202\d{7}", "message":"[A-Z][a-z]", "n": 1.0 \}$/,
  );
  expect(replied).toMatch(/^\{"detail":"\+1202\d{7} is bad"\}$/);
  expect(replied).not.toContain('5550101');
});

test('an error keeps its text, and only the texts of messages are redacted', () => {
  const throttled = '{"detail":"Request was throttled. Expected available in 12 seconds."}';
  const invalid = '{"message":["May not be blank."],"to":["At least 10 digits."]}';
  const page = '<h1>Bad gateway</h1>';
  for (const text of [throttled, invalid, page]) expect(bodies('', text, 502)[1]).toBe(text);
  const list = bodies('', '[{"text":"Hello","other":"you"}]', 200, '/api/v1/sms/received/')[1];
  expect(list).not.toMatch(/Hello|you/);
  const echoed = bodies('{"message":"Hello"}', '{"detail":"Hello: no"}', 400)[1];
  expect(echoed).toMatch(/^\{"detail":"(?!Hello)[A-Z][a-z]{4}: no"\}$/);
});

const number = '+12025559876';
const secretText = 'Dear Mildred,\nyour "PIN" is 4711 \u00e8 \ud83d\ude00 & more';
const digits = number.slice(1);
const sentText = JSON.stringify({ to: number, message: secretText });
const quoted = (text: string) => JSON.stringify({ detail: `Refused: ${text}` });
const pythonQuoted = quoted(secretText).replace(
  /[\u0080-\uffff]/g,
  (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
);
const html = (text: string) =>
  text.replace(/[^a-z0-9 ]/gi, (character) => `&#${character.codePointAt(0)};`);
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** How exchanges that leaked once are written, and what may not be in their lines. */
const leaks: readonly (readonly [name: string, given: Given, secrets: readonly string[]])[] = [
  ['a number in a query', { target: `/api/v1/sms/received/?from=${digits}` }, [digits]],
  ['a number whose plus sign was decoded', { target: `/?from=%20${digits}` }, [digits]],
  ['a number in a path', { target: `/numbers/%2B${digits}/` }, [digits]],
  ['a number with brackets', { replied: quoted('+1 (202) 555-9876') }, ['555-9876']],
  ['a number with blanks', { replied: quoted('+1 202 555 9876') }, ['555 9876']],
  ['a number as a name', { replied: `{"${number}":["is bad"]}` }, [digits]],
  ['a number as a JSON number', { replied: `{"sender":${digits}}`, status: 202 }, [digits]],
  ['a number without a plus', { replied: `{"phone":"${digits}"}`, status: 202 }, [digits]],
  ['numbers in a list', { sent: `{"recipients":["${digits}"]}` }, [digits]],
  ['a JSON number of a request', { sent: `{"phone":${digits}}` }, [digits]],
  [
    'the national form of a number',
    { sent: sentText, replied: quoted('(202) 555-9876 or 02025559876') },
    ['555-9876', '5559876'],
  ],
  ['digits of another script', { sent: '{"to":"+１２０２５５５９８７６"}' }, ['５５５９８７６']],
  ['a number in base64', { sent: sentText, replied: quoted(base64(number)) }, [base64(digits)]],
  ['a number in an address', { replyHeaders: { location: `/sms/%2b${digits}/` } }, [digits]],
  ['an invalid number', { sent: '{"to":"9990001"}', replied: quoted('9990001') }, ['9990001']],
  ['an escaped echo', { sent: sentText, replied: quoted(secretText) }, ['Mildred', '4711']],
  ['an echo in ASCII', { sent: sentText, replied: pythonQuoted }, ['Mildred', '4711']],
  ['an echo in HTML', { sent: sentText, replied: html(secretText) }, ['Mildred', '4711']],
  [
    'a page with line breaks',
    { sent: sentText, replied: `<p>${secretText.replace('\n', '<br/>')}` },
    ['Mildred', '4711'],
  ],
  ['a text that is cut', { sent: sentText, replied: quoted('Dear Mildred,\nyo…') }, ['Mildred']],
  ['a short piece', { sent: sentText, replied: quoted('Dear Mild...') }, ['Mild']],
  [
    'an echo under another name',
    { sent: sentText, status: 202, replied: '{"preview_of_it":"Dear Mildred,\\nyour"}' },
    ['Mildred'],
  ],
  ['a text in a query', { target: '/?to=1&message=My%20secret+text', status: 202 }, ['secret']],
  [
    'a text of another name',
    { sent: '{"text":"one","body":"two","content":"six"}' },
    ['one', 'two', 'six'],
  ],
  [
    'a text in a form',
    {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      sent: 'to=%2B12025559876&body=Dear+Mildred%2C+hi',
      replied: quoted('Dear Mildred, hi'),
    },
    ['Mildred', digits],
  ],
  ['a text in JSON in JSON', { sent: JSON.stringify({ payload: sentText }) }, ['Mildred']],
  ['a text in base64', { sent: sentText, replied: base64(`:${secretText}`) }, ['RGVhciBN']],
  ['a text in another case', { sent: sentText, replied: 'DEAR MILDRED, YOUR "PIN"' }, ['MILDRED']],
  [
    'a key in other headers',
    {
      headers: { 'content-type': `application/json; x=${bearer}` },
      replyHeaders: { 'content-type': `text/html; token=other-key`, 'retry-after': bearer },
    },
    [bearer, 'other-key'],
  ],
  ['a key in HTML', { replied: html(bearer) }, [bearer.slice(5)]],
  ['a key in base64', { replied: base64(`a:${bearer}`) }, [base64(`a:${bearer}`).slice(8, 40)]],
  ['a key in upper case', { replied: bearer.toUpperCase() }, [bearer.toUpperCase()]],
  ['half a key', { replied: `starts with ${bearer.slice(0, 22)}` }, [bearer.slice(0, 22)]],
  [
    'a key in UTF-16',
    { sent: Buffer.from(`"${bearer} ${number}"`, 'utf16le') },
    [[...bearer].join('\\u0000'), [...digits].join('\\u0000')],
  ],
  [
    'a key of another header',
    { headers: { 'X-Api-Key': 'a+b=c-of-another' }, replied: 'a&#43;b&#61;c-of-another' },
    ['c-of-another'],
  ],
  [
    'a password of Basic',
    { headers: { 'Proxy-Authorization': `Basic ${base64('me:hunter22')}` }, replied: 'hunter22' },
    ['hunter22'],
  ],
  ...['key-acme', 'key-of-acme-1'].map((key): (typeof leaks)[number] => [
    `a key that the key ${key} begins`,
    {
      headers: { 'X-Api-Key': key },
      sent: JSON.stringify({ token: `${key}-zq7x` }),
      replied: `bad ${key}-zq7x`,
    },
    ['zq7x'],
  ]),
  ['a password in a target', { target: 'http://user:hunter22@:80/x' }, ['hunter22']],
  ['a password in an address', { replyHeaders: { location: '//u:hunter22@h/' } }, ['hunter22']],
];

test.each(leaks)('%s is redacted', (_, given, secrets) => {
  const line = JSON.stringify(lineOf(given));
  for (const secret of secrets) expect(line).not.toContain(secret);
});

test('an echo has the replacement of its text; one in another encoding is replaced whole', () => {
  const sent = JSON.stringify({ message: secretText });
  const [request, reply] = bodies(sent, pythonQuoted, 400);
  expect(JSON.parse(reply).detail).toBe(`Refused: ${JSON.parse(request).message}`);
  const escaped = quoted(html(secretText));
  const hidden = JSON.parse(bodies(sent, escaped, 400)[1]);
  expect(hidden.detail).not.toContain('Refused');
  expect(hidden.detail.length).toBe(JSON.parse(escaped).detail.length);
  const page = `<p>${html(secretText)}`;
  expect(bodies(sent, page, 500)[1]).toHaveLength(page.length);
  const other = JSON.stringify({ detail: html(secretText), message_id: 'a-1', code: 'not_found' });
  expect(JSON.parse(bodies(sent, other, 400)[1])).toMatchObject({
    message_id: 'a-1',
    code: 'not_found',
  });
});

test('words, times and identifiers of the service stay, though a text contains them', () => {
  const id = '0b8f7c1e-1f2d-4a3b-8c4d-5e6f7a8b9c0d';
  const target = '/api/v1/sms/send/';
  const message = `status delivered at 2026-03-05T09:14:11Z ${id} order-number-12 ${target} failed`;
  const reply = JSON.stringify({
    message_id: id,
    status: 'delivered',
    request_id: 'order-number-12',
    created_at: '2026-03-05T09:14:11Z',
    unix: 1767258000,
    limit: 1000000,
    code: 'not_found',
  });
  const line = lineOf({ target, sent: JSON.stringify({ message }), replied: reply, status: 202 });
  expect([line.request.path, line.reply?.body]).toEqual([target, reply]);
  expect(line.request.body).not.toContain('order');
  expect(bodies('{"message":"failed"}', '{"status":"failed"}', 202)[1]).toBe('{"status":"failed"}');
});

test('the national form of a number gets the end of its replacement', () => {
  const [request, reply] = bodies(sentText, quoted('(202) 555-9876'), 400);
  const replaced = JSON.parse(request).to.slice(2);
  expect(JSON.parse(reply).detail.replace(/\D/g, '')).toBe(replaced);
});

test('numbers that are rare among their neighbours get others, and soon', () => {
  const redactor = new Redactor('salt', ['numbers']);
  for (const rare of ['13100348', '431119', '44162485873', '9990001', '12']) {
    const other = redactor.number(rare);
    expect(other).toMatch(new RegExp(`^${rare.charAt(0)}\\d{${rare.length - 1}}$`));
    expect(other).not.toBe(rare);
    expect(redactor.number(rare)).toBe(other);
  }
});

test('a long line is made in many slices', () => {
  const text = 'a'.repeat(500_000);
  const replied = quoted(text);
  const work = new LineMaker('salt', ['numbers', 'text']).make(
    passed({ sent: JSON.stringify({ message: text }), replied }),
  );
  let slices = 0;
  for (;;) {
    const { done, value } = work.next();
    if (!done) slices++;
    else {
      expect(slices).toBeGreaterThan(100);
      expect(value.reply?.body).not.toContain('aaaaaaaaaaaa');
      return;
    }
  }
});
