/**
 * Generated exchanges in the shapes that services reply in: no number, text or key of an exchange
 * is in its line. A second decoder, which shares nothing with the recorder, reads the line.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { atOnce } from '#io/event-loop.ts';
import { runs } from '#verify/testkit/runs.ts';
import { LineMaker } from './line-maker.ts';
import type { Header, PassedExchange } from './passed-exchange.ts';

/** Bytes in, text out; bytes that are no UTF-8 are Latin-1. */
function textOfBytes(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') ? bytes.toString('latin1') : text;
}

/** Every reading of a text that somebody who looks for secrets would try. */
function readingsOf(text: string): readonly string[] {
  const readings = [text];
  for (let round = 0; round < 4; round++) {
    const last = readings.at(-1) ?? '';
    const entities: Record<string, string> = {
      amp: '&',
      lt: '<',
      gt: '>',
      quot: '"',
      apos: "'",
      eacute: 'é',
      egrave: 'è',
    };
    readings.push(
      last
        .replace(/((?:%[0-9a-f]{2})+)/gi, (escaped) =>
          textOfBytes(Buffer.from(escaped.replace(/%/g, ''), 'hex')),
        )
        .replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
        .replace(
          /\\([nrt"/\\])/g,
          (_, letter) => ({ n: '\n', r: '\r', t: '\t' })[letter as 'n'] ?? letter,
        )
        .replace(/&#x([0-9a-f]+);/gi, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)))
        .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
        .replace(/&([a-z]+);/g, (whole, name) => entities[name] ?? whole),
    );
  }
  const encoded = readings.flatMap((reading) => reading.match(/[\w+/-]{8,}/g) ?? []);
  const decoded = encoded.flatMap((token) =>
    [0, 1, 2, 3].map((offset) => Buffer.from(token.slice(offset), 'base64').toString('utf8')),
  );
  return [...readings, ...readings.map((reading) => reading.replace(/\+/g, ' ')), ...decoded];
}

const flat = (text: string) => text.toLowerCase().replace(/\s+/g, ' ');

function leaksIn(line: string, secrets: Secrets): readonly string[] {
  const readings = readingsOf(line);
  const together = flat(readings.join('\u0001'));
  const withoutSeparators = together.replace(/[\s+()./-]/g, '');
  const text = flat(secrets.text);
  const pieces = Array.from({ length: Math.max(0, text.length - 11) }, (_, at) =>
    text.slice(at, at + 12),
  );
  return [
    ...secrets.numbers.filter((number) => withoutSeparators.includes(number)),
    ...secrets.keys.filter((key) => together.includes(key.toLowerCase())),
    ...pieces.filter((piece) => /[\p{L}\p{N}]{3}/u.test(piece) && together.includes(piece)),
  ];
}

interface Secrets {
  readonly numbers: readonly string[];
  readonly keys: readonly string[];
  readonly text: string;
}

const percent = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const inAscii = (text: string) =>
  JSON.stringify(text)
    .slice(1, -1)
    .replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
const everyUnit = (text: string) =>
  text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`)
    .join('');
const named = (text: string) =>
  text.replace(
    /[&<>"'éè]/g,
    (one) =>
      ({
        '&': '&amp;',
        '<': '&lt;',
        '>': '&gt;',
        '"': '&quot;',
        "'": '&#39;',
        é: '&eacute;',
        è: '&egrave;',
      })[one] ?? one,
  );
const entities = (text: string, base: 10 | 16) =>
  [...text]
    .map((one) =>
      /[a-z0-9 ]/.test(one)
        ? one
        : `&#${base === 16 ? 'x' : ''}${one.codePointAt(0)?.toString(base)};`,
    )
    .join('');

/** How services and frameworks write a value in text. */
const spellings: readonly ((value: string) => string)[] = [
  (value) => value,
  (value) => value.toUpperCase(),
  (value) => value.toLowerCase(),
  encodeURIComponent,
  (value) => encodeURIComponent(value).replaceAll('%20', '+').toLowerCase(),
  percent,
  inAscii,
  everyUnit,
  (value) => JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/'),
  named,
  (value) => entities(value, 10),
  (value) => entities(value, 16),
  (value) => inAscii(named(value)),
  (value) => encodeURIComponent(inAscii(value)),
  (value) => encodeURIComponent(encodeURIComponent(value)),
  (value) => Buffer.from(value).toString('base64'),
  (value) => Buffer.from(`a${value}`).toString('base64url'),
  (value) => encodeURIComponent(Buffer.from(`to${value}`).toString('base64')),
  (value) => value.replaceAll('\n', '<br>\n'),
];

/** How numbers are written besides. */
const notations: readonly ((digits: string) => string)[] = [
  (digits) => `+${digits}`,
  (digits) => digits,
  (digits) => `%2B${digits}`,
  (digits) => `%20${digits}`,
  (digits) => `00${digits}`,
  (digits) =>
    `+${digits.slice(0, 1)} (${digits.slice(1, 4)}) ${digits.slice(4, 7)}-${digits.slice(7)}`,
  (digits) => `+${digits.slice(0, 2)} ${digits.slice(2, 5)} ${digits.slice(5)}`,
  (digits) => `${digits.slice(0, 2)}-${digits.slice(2, 5)}.${digits.slice(5)}`,
  (digits) => `tel:+${digits}`,
];

const anySpelling = fc.constantFrom(...spellings);
const anyNotation = fc.constantFrom(...notations);

const words = [
  'Zoë',
  'parcel',
  'PIN',
  '4711',
  'è',
  '😀',
  'Grüße',
  '"now"',
  '<b>',
  "it's",
  'a&b',
  'x=1',
  '50%',
  'Привет',
  'мир',
  'ab/c',
  '\\',
  'meet',
  'tomorrow',
];
const anyText = fc
  .array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(' ', '\n', ', ', '\r\n', ' - ')), {
    minLength: 4,
    maxLength: 30,
  })
  .map((parts) => `Secretly ${parts.flat().join('')}the end of it`);
const anyDigits = fc.oneof(
  fc.integer({ min: 2_000_000, max: 9_999_999 }).map((last) => `1202${last}`),
  fc.integer({ min: 10_000_000, max: 99_999_999 }).map((last) => `4479${last}`),
  fc.integer({ min: 10_000_000, max: 99_999_999 }).map((last) => `49151${last}`),
  fc.bigInt({ min: 2_000_000n, max: 999_999_999_999_999n }).map(String),
);
const anyKey = fc.oneof(
  fc
    .string({
      unit: fc.constantFrom(...'abcdefghij0123456789ABCDEF'),
      minLength: 40,
      maxLength: 40,
    })
    .map((rest) => `smst_${rest}`),
  fc
    .string({ unit: fc.constantFrom(...'abcXYZ0189+/=_.-'), minLength: 16, maxLength: 40 })
    .map((rest) => `k${rest}z`),
);

/** A value in the wording of an error or an echo, in its whole or cut. */
type Echo = (value: string) => string;
const anyEcho: fc.Arbitrary<Echo> = fc.oneof(
  fc.constant<Echo>((value) => value),
  fc.integer({ min: 12, max: 40 }).map(
    (length): Echo =>
      (value) =>
        `${[...value].slice(0, length).join('')}…`,
  ),
  fc.integer({ min: 12, max: 40 }).map(
    (length): Echo =>
      (value) =>
        `too long: ${[...value].slice(0, length).join('')}...`,
  ),
  fc.integer({ min: 12, max: 40 }).map(
    (length): Echo =>
      (value) =>
        [...value].slice(-length).join(''),
  ),
);

const anyExchange = fc
  .record({
    text: anyText,
    to: anyDigits,
    from: anyDigits,
    key: anyKey,
    other: anyKey,
    /** How the reply writes each. */
    spell: fc.tuple(anySpelling, anySpelling, anySpelling),
    notation: fc.tuple(anyNotation, anyNotation),
    echo: anyEcho,
    request: fc.constantFrom('json', 'ascii', 'form', 'query', 'nested', 'list'),
    toNotation: anyNotation,
    credential: fc.constantFrom(
      'bearer',
      'basic',
      'x-api-key',
      'member',
      'token',
    ) as fc.Arbitrary<string>,
    reply: fc.constantFrom(...Array.from({ length: 10 }, (_, shape) => shape)),
    textName: fc.constantFrom('message', 'text', 'body', 'content'),
  })
  .map((drawn) => {
    const { text, to, from, key, other, textName, credential } = drawn;
    const [spellText, spellKey, spellNumber] = drawn.spell;
    const written = drawn.echo(text);
    const spelt = spellText(written);
    const shownKey = spellKey(key);
    const numbers = [drawn.notation[0](to), spellNumber(drawn.notation[1](from))];
    const inJson = (value: string) => JSON.stringify(value);
    const raw = (value: string) => `"${value.replace(/\\(?!["\\/bfnrtu])|["\p{Cc}]/gu, ' ')}"`;
    const all = `${spelt} ${numbers.join(' and ')} ${shownKey}`;
    const [status, body, headers] = [
      [400, `{"detail":${inJson(`Invalid: ${all}`)}}`, {}],
      [
        400,
        `{"errors":[{"field":"to","value":${inJson(numbers.join())}},${inJson(spelt)}],"k":${raw(shownKey)}}`,
        {},
      ],
      [
        202,
        `{"status":"queued","echo":${inJson(spelt)},"recipient_no":${inJson(numbers[0] ?? '')},"${from}":1}`,
        {},
      ],
      [202, `{"status":"queued","preview":${raw(spelt)},"sender":${from},"x":${to}}`, {}],
      [
        500,
        `<html><body><h1>Error</h1><pre>${all}</pre></body></html>`,
        { 'content-type': 'text/html' },
      ],
      [422, `bad request: ${all}`, { 'content-type': 'text/plain' }],
      [
        201,
        '',
        {
          location: `/sms/${encodeURIComponent(`+${to}`)}/?text=${encodeURIComponent(written)}&k=${encodeURIComponent(key)}`,
        },
      ],
      [
        429,
        '{}',
        { 'retry-after': key, 'content-type': `application/json; token=${key}; n=${to}` },
      ],
      [
        400,
        `{"detail":${inJson(JSON.stringify({ message: written, to: numbers[0], key: shownKey }))}}`,
        {},
      ],
      [
        400,
        `detail=${encodeURIComponent(all)}&n=${encodeURIComponent(numbers[0] ?? '')}`,
        { 'content-type': 'application/x-www-form-urlencoded' },
      ],
    ][drawn.reply] as [number, string, Record<string, string>];
    const fields = {
      to: decodeURIComponent(drawn.toNotation(to)),
      from: `+${from}`,
      [textName]: text,
    };
    const form = new URLSearchParams({ ...fields, api_key: other }).toString();
    const sent = {
      json: JSON.stringify({ ...fields, api_key: other }),
      ascii: `{"to":"${fields.to}","from":"+${from}","${textName}":"${inAscii(text)}","api_key":"${other}"}`,
      form,
      query: '',
      nested: JSON.stringify({ payload: JSON.stringify(fields), api_key: other }),
      list: JSON.stringify({ messages: [fields, { ...fields, to: from }], api_key: other }),
    }[drawn.request];
    const type = sent === form ? 'application/x-www-form-urlencoded' : 'application/json';
    const credentials: Record<string, Record<string, string>> = {
      bearer: { Authorization: `Bearer ${key}` },
      token: { Authorization: `Token token="${key}"` },
      basic: { Authorization: `Basic ${Buffer.from(`user:${key}`).toString('base64')}` },
      'x-api-key': { 'X-Api-Key': key },
      member: { Authorization: 'Bearer short', 'X-Auth-Token': key },
    };
    const pairs = (given: Record<string, string>): Header[] => Object.entries(given);
    const exchange: PassedExchange = {
      sentMs: 0,
      steadyMs: [0, 1],
      connection: 1,
      clientIp: '127.0.0.1',
      method: 'POST',
      target: drawn.request === 'query' ? `/api/external/send/?${form}` : '/api/v1/sms/send/',
      requestHeaders: pairs({ ...credentials[credential], 'Content-Type': type }),
      requestBody: Buffer.from(sent),
      reply: {
        status,
        headers: pairs({ 'content-type': 'application/json', ...headers }),
        body: Buffer.from(body),
      },
      failure: undefined,
      fault: undefined,
    };
    return { exchange, secrets: { numbers: [to, from], keys: [key, other], text } };
  });

test('no number, text or key of an exchange is in its line, however a service writes it', () => {
  fc.assert(
    fc.property(anyExchange, ({ exchange, secrets }) => {
      const line = atOnce(new LineMaker('salt', ['numbers', 'text']).make(exchange));
      expect(leaksIn(JSON.stringify(line), secrets)).toEqual([]);
    }),
    { numRuns: runs(120) },
  );
});
