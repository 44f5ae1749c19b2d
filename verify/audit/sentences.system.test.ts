/** What an audit says of what it did not try, of limiters that seem to have no limit, and of waits. */
import { expect, test } from 'vitest';
import { type AuditedExchange, audit, differencesIn, learn, type Subject } from '#audit/audit.ts';
import { type Askers, keyedBy } from '#audit/keyed-by.ts';
import { answerOf, reportText } from '#audit/report/report.ts';
import { optionAdvice } from '#audit/statement.ts';
import { mostInAWindow } from '#audit/statements.ts';
import { flagAdvice } from '#cli/audit/audited-requests.ts';
import { fixedWindow, LimitedServer, perKey, slidingLog, tokenBucket } from './limiters.ts';

const window = () => perKey(fixedWindow(5, 4_000));

const byCaller = ({ caller }: Subject) => caller;
const byAll = () => '';
const byPath = ({ path }: Subject) => path.split('?')[0] ?? '';
const both = ['/orders', '/other', '/orders?x=1'];

interface Asked extends Partial<Askers> {
  readonly paths: readonly string[];
  readonly callers?: readonly string[];
  /** The status of the answers on `/other`. */
  readonly otherStatus?: number;
}

/** What is said of a limiter by this key, if each other was asked once, after one refusal. */
function keysOf(keyOf: (subject: Subject) => string, asked: Asked) {
  const { paths, callers = ['one', 'two'], otherStatus = 200, ...settings } = asked;
  const [first, ...others] = [
    ...callers.map((caller): Subject => ({ caller, path: paths[0] ?? '/' })),
    ...paths.slice(1).map((path): Subject => ({ caller: 'one', path })),
  ];
  if (first === undefined) throw new Error('no callers');
  const statusOf = ({ path }: Subject) => (path === '/other' ? otherStatus : 200);
  // An error comes from a route that has no limiter.
  const isShared = (subject: Subject) =>
    keyOf(subject) === keyOf(first) && statusOf(subject) === 200;
  const exchanges = [first, first, ...others].map((subject, i): AuditedExchange => {
    const isRefused = i > 0 && isShared(subject);
    const status = statusOf(subject);
    return {
      ...{ ...subject, number: i + 1, sentAtMs: i, answeredAtMs: i, answeredAt: i, headers: {} },
      ...(isRefused ? { status: 429, outcome: 'refused' } : { status, outcome: 'passed' }),
    };
  });
  const keyTests = others.map((subject, i) => {
    return { subject, isShared: isShared(subject), isClear: true, exchanges: [i + 3], own: [] };
  });
  const differencesOf = ({ path }: Subject) =>
    path === first.path ? ['address'] : differencesIn(path, first.path);
  const differences = ['address', 'path', 'query'];
  const words = { differencesOf, differences, advice: flagAdvice, ...settings };
  return keyedBy({ exchanges, keyTests, others, ...words }, false);
}

/** Passes that are sent every 10 ms, and answered after these times. */
function passesAnsweredAfter(...delays: readonly number[]): AuditedExchange[] {
  return delays.map((delayMs, i) => {
    const [sentAtMs, answeredAtMs] = [i * 10, i * 10 + delayMs];
    const times = { number: i + 1, sentAtMs, answeredAtMs, answeredAt: answeredAtMs };
    return { ...times, caller: 'one', path: '/', status: 200, headers: {}, outcome: 'passed' };
  });
}

test.each<[string, readonly number[], readonly number[]]>([
  ['quick', [1, 1, 1], [1, 2, 3]],
  ['slow first', [1_100, 1, 1], [2, 3]],
  ['slow in the middle', [1, 1_100, 1, 1], [1, 3, 4]],
  ['slow last', [1, 1, 1_100], [1, 2]],
  ['just too slow for the first window', [1, 1, 985, 975], [2, 3, 4]],
  ['all slow', [1_100, 1_100], []],
])('replies that are %s: counts those that certainly passed in a window', (_, delays, shown) => {
  const statement = mostInAWindow(passesAnsweredAfter(...delays), 1_000);
  expect(statement.exchanges).toEqual(shown);
  expect(statement.value).toBe(shown.length);
  expect(statement.sentence).toBe(`the most that passed within a window: ${shown.length}`);
});

test('as many pass within a window as a count of each window finds', () => {
  const delays = Array.from({ length: 200 }, (_, i) => (i * 7_919) % 1_301);
  const passes = passesAnsweredAfter(...delays);
  const counts = passes.map(({ sentAtMs }, begin) => {
    const isInTime = (each: AuditedExchange) => each.answeredAtMs < sentAtMs + 1_000;
    return passes.slice(begin).filter(isInTime).length;
  });
  expect(mostInAWindow(passes, 1_000).value).toBe(Math.max(...counts));
});

const named = { paths: both, differences: ['address', 'path', 'query', 'header:x-api-key'] };

test.each<[string, (subject: Subject) => string, Asked, string]>([
  ['no other path', byCaller, { paths: ['/orders'] }, 'add another path of your service with --v'],
  ['no other path but a query', byAll, { paths: ['/orders', '/orders?x=1'] }, 'no other path was'],
  ['no other query', byCaller, { paths: ['/orders', '/other'] }, "add --vary-path '/orders?x=1'"],
  [
    'no other query, in process',
    byCaller,
    { paths: ['/orders', '/other'], advice: optionAdvice },
    "no other query was asked: add '/orders?x=1' to paths",
  ],
  ['no other caller', byPath, { paths: both, callers: ['one'] }, 'no other address was asked'],
  [
    'one path that differs in two ways',
    byPath,
    { paths: ['/orders', '/other?x=1'] },
    "by its path or by its query: add --vary-path '/other' --vary-path '/orders?x=1'",
  ],
  [
    'one header that all requests had',
    byCaller,
    named,
    "all requests had the same X-Api-Key: add --caller 'X-Api-Key: a, b'",
  ],
  [
    'one header that all requests had, in process',
    byCaller,
    { ...named, advice: optionAdvice },
    'all requests had the same X-Api-Key: add a second name to callers',
  ],
  ['no header', byAll, { paths: both, differences: ['header'] }, "add --caller 'Name: a, b'"],
  [
    'another path that is answered with an error',
    byCaller,
    { paths: both, otherStatus: 404 },
    '/other was answered 404: name one that',
  ],
])('with %s, who shares the limit is undetermined', (_, keyOf, asked, advice) => {
  const statement = keysOf(keyOf, asked);
  expect(statement).toMatchObject({ value: null, certainty: 'undetermined' });
  expect(statement.sentence).toContain(advice);
});

test.each([
  [byCaller, both, ['address']],
  [byPath, both, ['path']],
  [
    ({ caller, path }: Subject) => `${caller} ${byPath({ caller, path })}`,
    both,
    ['address', 'path'],
  ],
  [({ path }: Subject) => path.split('?')[1] ?? '', both, ['query']],
  // What differs in both and shares the limit shows that neither counts.
  [byCaller, ['/orders', '/other?x=1'], ['address']],
  [byAll, both, ['all']],
])('what was tried alone is certain (%#)', (keyOf, paths, value) => {
  expect(keysOf(keyOf, { paths })).toMatchObject({ value, certainty: 'certain' });
});

function withoutLimit(answer: (number: number, now: number) => { status: number; ms: number }) {
  let [now, number] = [0, 0];
  const request = async () => {
    number += 1;
    const { status, ms } = answer(number, now);
    now += ms;
    return { status, headers: status === 503 ? { 'retry-after': '0.16' } : {} };
  };
  const sleep = async (ms: number) => {
    now += ms;
  };
  return learn({ request, now: () => now, sleep, budget: 100 });
}

test('errors that look like refusals are said, and what to type', async () => {
  const result = await withoutLimit((number) => ({ status: number > 6 ? 503 : 200, ms: 1 }));
  expect(result.statements.algorithm.certainty).toBe('undetermined');
  expect(answerOf(result)).toBe(
    '6 passed, then 5 were answered 503 with Retry-After 0.16: if that is how it refuses, add 503 to refused',
  );
  expect(result.statements.keyed_by.sentence).toBe('not tried, as no request was refused');
});

test('requests that pass evenly are said to wait, those of a slow service are not', async () => {
  let free = 0;
  const queue = await withoutLimit((_, now) => {
    const at = Math.max(free, now + 1);
    free = at + 100;
    return { status: 200, ms: at - now };
  });
  expect(answerOf(queue)).toContain(
    'they were answered 100 ms apart: something delays them to 10 a',
  );
  const slow = await withoutLimit(() => ({ status: 200, ms: 100 }));
  const quick = await withoutLimit(() => ({ status: 200, ms: 1 }));
  for (const [{ statements }, some] of [
    [slow, ', 50 of them at once,'],
    [quick, ''],
  ] as const)
    expect(statements.algorithm.sentence).toMatch(new RegExp(`^no request of \\d+${some} was`));
});

test('a limit that slow replies never reach is not called no limit', async () => {
  const limiter = fixedWindow(9, 300)();
  let now = 0;
  const request = async () => {
    const arrivedMs = now;
    await Promise.resolve();
    // Requests at once arrive together.
    now = Math.max(now, arrivedMs + 60);
    return { status: limiter(arrivedMs).passes ? 200 : 429 };
  };
  const sleep = async (ms: number) => {
    now += ms;
  };
  const { statements } = await learn({ request, now: () => now, sleep, budget: 100 });
  expect(statements.algorithm.certainty).toBe('undetermined');
  expect(statements.algorithm.sentence).toBe(
    '11 requests passed one by one, 16.7 a second, but of 50 at once 42 were refused: replies are too slow for an audit, which asks one by one, to reach this limit',
  );
  expect(statements.limit.sentence).toBe('not learned: see algorithm');
});

const audited = { maxWindow: 10_000, paths: both };

test('a wait that is too short is said with how often and by how much', async () => {
  const { request, clock } = new LimitedServer(window(), undefined, ({ passes, waitMs }) =>
    passes ? {} : { 'retry-after': `${Math.floor(waitMs / 1_000)}` },
  );
  const { retry_after: wait } = (await learn({ request, ...clock, ...audited })).statements;
  expect(wait.value).toBe('short');
  const pattern =
    /^Retry-After is too short, by ([\d.]+) s or more, after (\d+) of (\d+) refusals: it said (\d+) s, but a request ([\d.]+) s later was refused, and one ([\d.]+) s later passed$/;
  const [, by = 0, often = 0, tried = 0, said = 0, refused = 0, passed = 0] =
    pattern.exec(wait.sentence)?.map(Number) ?? [];
  expect(refused - said).toBeCloseTo(by);
  expect(passed).toBeGreaterThan(refused);
  expect(often).toBeGreaterThan(1);
  expect(tried).toBeGreaterThanOrEqual(often);
});

test.each([
  [1, 'read as seconds it is true: never too short after'],
  [0.5, 'read as seconds it is too short, by'],
])('a wait with a fraction, %d times the true one, is unreadable', async (times, says) => {
  const { request, clock } = new LimitedServer(window(), undefined, ({ passes, waitMs }) =>
    passes ? {} : { 'retry-after': ((times * waitMs) / 1_000 + 0.001).toFixed(3) },
  );
  const { retry_after: wait } = (await learn({ request, ...clock, ...audited })).statements;
  expect(wait).toMatchObject({ value: 'unreadable', certainty: 'certain' });
  expect(wait.sentence).toContain(says);
});

test('fields are said with what was compared, and how often', async () => {
  const { request, clock } = new LimitedServer(window(), undefined, ({ passes, waitMs }) => ({
    'x-ratelimit-limit': '5',
    ...(!passes && {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': `${Math.ceil(waitMs / 1_000)}`,
    }),
  }));
  const { fields } = (await learn({ request, ...clock, ...audited })).statements;
  expect(fields.value).toEqual({ 'X-RateLimit-*': true });
  expect(fields.sentence).toMatch(
    /^X-RateLimit-\* true \(limit in \d+ replies, remaining in \d+ replies, reset in \d+ replies\)$/,
  );
});

test('a number that a limiter of this kind does not have is said to be none', async () => {
  const log = new LimitedServer(perKey(slidingLog(5, 4_000)));
  const result = await learn({ request: log.request, ...log.clock, ...audited });
  expect(result.statements.burst).toMatchObject({ value: null, certainty: 'undetermined' });
  const text = reportText({ url: 'http://127.0.0.1/', result, differences: [] });
  expect(text).toMatch(/ {2}burst +- +undetermined +a sliding log has none/);
});

test('what is still possible is said, and the first requests that show it', async () => {
  const { request, clock } = new LimitedServer(perKey(tokenBucket(5, 2_500)));
  const result = await learn({ request, ...clock, ...audited, budget: 90 });
  const { algorithm } = result.statements;
  expect(algorithm.certainty).toBe('undetermined');
  expect(algorithm.sentence).toMatch(/still possible: .*a token bucket of [\d.]+( to [\d.]+)? in /);
  const text = reportText({ url: 'http://127.0.0.1/', result, differences: [] });
  expect(text).toMatch(/ {2}algorithm +- +undetermined +.* \[#\d+, #\d+, #\d+ and \d+ more\]/);
});

test.each(['maxWindow', 'budget', 'rate', 'timeout'])('refuses 0 as %s', async (name) => {
  const request = async () => ({ status: 200, headers: {} });
  const line = `${name}: expected a number above 0; got 0`;
  await expect(audit({ request, [name]: 0 })).rejects.toThrow(new RangeError(line));
});
