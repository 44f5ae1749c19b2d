import { expect, test } from 'vitest';
import { declaredOperations } from './build/declared.ts';
import { type Field, Refusal, readTyped, readValue } from './field.ts';
import { csvOf, textOf } from './value-texts.ts';

const declared = declaredOperations();
const inputOf = (name: string) => declared[name]?.input ?? [];
const limit: Field = { name: 'send', kind: 'number', isWhole: true, least: 1, most: 1_000_000 };
const probability: Field = { name: 'probability', kind: 'number', least: 0, most: 1 };

test.each(['abc', '1,000', '0x10', '1e3', '-1', '1.5', '', '٣', '1 000', 'Infinity', 'NaN'])(
  'a whole number is never read from %j',
  (text) => {
    expect(() => readValue(limit, text)).toThrow(
      /^expected a whole number from 1 to 1000000, in plain digits/,
    );
  },
);

test.each(['0x1', '1e-1', '.5', '1.', '0,5', '2', 'half'])(
  'a probability is never read from %j',
  (text) => {
    expect(() => readValue(probability, text)).toThrow(/^expected a number from 0 to 1/);
  },
);

test('plain digits are read, with room around them', () => {
  expect(readValue(limit, ' 120 ')).toBe(120);
  expect(readValue(probability, '0.25')).toBe(0.25);
});

test('all mistakes of a form are named together, by field', () => {
  const read = () => readTyped(inputOf('limits.patch'), { send: 'abc', read: '3', tasks: '0' });
  expect(read).toThrow(Refusal);
  expect(read).toThrow(
    expect.objectContaining({
      mistakes: {
        send: 'expected a whole number from 1 to 1000000, in plain digits; got "abc"',
        tasks: 'expected a whole number from 1 to 1000000, in plain digits; got "0"',
      },
    }),
  );
});

test('a fault is read from its variants, and what is left empty is left out', () => {
  const typed = {
    fault: 'status',
    'fault.status': '503',
    'fault.headers': 'Retry-After: 5',
    'fault.body': '{"a":1}',
    when: 'the n-th requests',
    'when.nth': '1, 4',
    'match.endpoint': 'send',
    'match.to': '',
    times: '',
  };
  const fault = {
    match: { endpoint: 'send' },
    when: { nth: [1, 4] },
    fault: { kind: 'status', status: 503, headers: { 'Retry-After': '5' }, body: { a: 1 } },
  };
  expect(readTyped(inputOf('faults.add'), typed)).toEqual(fault);
  expect(textOf(fault.fault)).toBe('status, status 503, headers Retry-After 5, body a 1');
});

test('a variant that is the whole input is read without a name', () => {
  const outcome = inputOf('outcomes.put')[0]?.item as Field;
  expect(readTyped([outcome], { '': 'is delivered', to: '+1202555017*' })).toEqual({
    to: '+1202555017*',
    ends: 'delivered',
  });
  expect(readTyped([outcome], { '': 'fails or stays', to: '+1202555017*', polls: '2' })).toEqual({
    to: '+1202555017*',
    ends: 'failed',
    in: 'queued',
    polls: 2,
  });
});

test('words and an empty text stand beside numbers where the declaration permits them', () => {
  const quota = inputOf('accounts.patch').find(({ name }) => name === 'monthly_quota') as Field;
  expect([' 7', 'unlimited', ''].map((text) => readValue(quota, text))).toEqual([
    7,
    'unlimited',
    null,
  ]);
  expect(() => readValue(quota, 'much')).toThrow(/ from 0 to 1000000000 or "unlimited", in plain/);
  const answers = inputOf('assumptions.patch');
  const perPoll = answers.find(({ name }) => name === 'sendsPerPoll') as Field;
  expect(['all', '3'].map((text) => readValue(perPoll, text))).toEqual(['all', 3]);
});

test('every column of a list but computed ones, and every field of a form, is declared', () => {
  expect(declared['sims.all']?.output?.map(({ name }) => name)).toContain('queue_length');
  expect(inputOf('assumptions.patch').length).toBeGreaterThan(20);
  expect(inputOf('assumptions.patch').filter(({ kind }) => kind === 'variants')).toEqual([]);
});

test('the variants that forms start with have these names', () => {
  const fault = inputOf('faults.add').find(({ name }) => name === 'fault');
  const names = (field: Field | undefined) => field?.fields?.map(({ name }) => name);
  expect(names(fault)).toEqual(expect.arrayContaining(['lost_request', 'status', 'delay']));
  const when = inputOf('faults.add').find(({ name }) => name === 'when');
  expect(names(when)).toContain('every n-th request');
  expect(names(inputOf('outcomes.put')[0]?.item)).toContain('fails or stays');
});

test('pairs are lines `name: value`; blank lines are left out', () => {
  const pairs: Field = { name: 'headers', kind: 'pairs' };
  expect(readValue(pairs, 'a: 1\n\n b : x:y \nc:')).toEqual({ a: '1', b: 'x:y', c: '' });
  expect(() => readValue(pairs, 'a: 1\nb')).toThrow('expected lines "name: value"; got "b"');
  expect(() => readValue(pairs, ': 1')).toThrow('expected lines "name: value"; got ": 1"');
});

test('CSV has the columns of the first row, and no formulas', () => {
  const rows = [
    { a: -0.5, b: '=1+1', c: '+12025550123' },
    { c: { d: 1 }, a: null },
  ];
  expect(csvOf(rows)).toBe('a,b,c\r\n-0.5,\'=1+1,+12025550123\r\n,,"{""d"":1}"\r\n');
});
