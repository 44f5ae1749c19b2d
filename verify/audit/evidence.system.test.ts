/** The requests that are no evidence, until one asks whether they count all the same. */
import { expect, test } from 'vitest';
import { Evidence } from '#audit/evidence.ts';
import { KeyTests } from '#audit/keys.ts';
import { Races } from '#audit/race.ts';
import { Run, type Subject } from '#audit/run.ts';
import { alignedWindow, LimitedServer, perKey, slidingLog, tokenBucket } from './limiters.ts';

test('a token that returns in each round of a test leaves open who shares the limit', async () => {
  // Each round of three requests takes 60 ms, as a token does: so the other caller passes in each.
  const server = new LimitedServer(perKey(tokenBucket(5, 300)), () => 'all');
  const { request, clock } = server;
  const [paceMs, timeoutMs] = [20, 60_000];
  const run = new Run({ request, ...clock, refused: [429], budget: 200, paceMs, timeoutMs });
  const evidence = new Evidence(1_000);
  const [first, other] = ['one', 'two'].map((caller): Subject => ({ caller, path: '/' }));
  if (first === undefined || other === undefined) throw new Error('no callers');
  const ask = async (count: number) => {
    for (let i = 0; i < count; i += 1) evidence.add(await run.ask(first));
  };
  await ask(8);
  const tests = new KeyTests(run, evidence, {
    first,
    others: [other],
    differencesOf: () => ['address'],
  });
  tests.firstPasses = 5;
  await tests.make();
  expect(tests.done).toMatchObject([{ isShared: false, isClear: false }]);
  // The audit later asks whether those of the other counted.
  const asked = tests.done[0]?.own.flat() ?? [];
  expect(asked.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(1);
});

test('a test shows an own limit only if no limiter that remains explains it as a shared one', async () => {
  // A token returns while a reply comes: one pass of the other, between two refusals, shows nothing.
  const { request, clock } = new LimitedServer(perKey(tokenBucket(2, 200)), () => 'all');
  const [paceMs, timeoutMs] = [20, 60_000];
  const run = new Run({ request, ...clock, refused: [429], budget: 200, paceMs, timeoutMs });
  const evidence = new Evidence(1_000);
  const [first, other] = ['one', 'two'].map((caller): Subject => ({ caller, path: '/' }));
  if (first === undefined || other === undefined) throw new Error('no callers');
  const differencesOf = () => ['address'];
  const tests = new KeyTests(run, evidence, { first, others: [other], differencesOf });
  for (let test = 0; test < 3; test += 1) {
    for (let asked = 0; asked < 6; asked += 1) evidence.add(await run.ask(first));
    tests.firstPasses = 1;
    await tests.make();
  }
  expect(tests.done.filter(({ isShared, isClear }) => isClear && !isShared)).toEqual([]);
});

test('each other that passed is doubted alone, as if it shared a limit higher than it seemed', async () => {
  const { request, clock } = new LimitedServer(perKey(slidingLog(3, 4_000)));
  const [paceMs, timeoutMs] = [20, 60_000];
  const run = new Run({ request, ...clock, refused: [429], budget: 200, paceMs, timeoutMs });
  const doubted: string[] = [];
  const evidence = new Evidence(1_000);
  evidence.isConsistentWith = (omitted) => {
    doubted.push([...new Set(omitted.flat().map(({ path }) => path))].join());
    return false;
  };
  const first: Subject = { caller: 'one', path: '/' };
  const others = ['/a', '/b'].map((path) => ({ caller: path, path }));
  for (let i = 0; i < 5; i += 1) evidence.add(await run.ask(first));
  const tests = new KeyTests(run, evidence, { first, others, differencesOf: () => ['path'] });
  tests.firstPasses = 3;
  await tests.make();
  expect(tests.done.map(({ isShared }) => isShared)).toEqual([false, false]);
  tests.noteUncountedRequests([]);
  expect(doubted).toEqual(['/a,/b', '/a', '/b']);
});

test.each([
  { state: 'isKnown', isSoAtFirst: true },
  { state: 'isIncomplete', isSoAtFirst: false },
])(
  'what passed in a test in which a window ended counts, by $state',
  async ({ state, isSoAtFirst }) => {
    const server = new LimitedServer(perKey(alignedWindow(5, 1_000)), () => 'all');
    const { request, clock } = server;
    const [paceMs, timeoutMs] = [20, 60_000];
    const run = new Run({ request, ...clock, refused: [429], budget: 200, paceMs, timeoutMs });
    const evidence = new Evidence(2_000);
    const [first, one, other] = ['a', 'b', 'c'].map((caller): Subject => ({ caller, path: '/' }));
    if (first === undefined || one === undefined || other === undefined)
      throw new Error('no callers');
    // A burst just before the end of a window.
    server.now += 915 - (server.now % 1_000);
    for (let asked = 0; asked < 6; asked += 1) evidence.add(await run.ask(first));
    // As after more bursts: a refusal may come from a limit of its own, and one contradicts all.
    Object.defineProperty(evidence, 'limit', { get: () => [4, 5] });
    const isBeforeTest = () => evidence.decisions.length < 8;
    Object.defineProperty(evidence, state, { get: () => isBeforeTest() === isSoAtFirst });
    evidence.isConsistentWith = () => true;
    const tests = new KeyTests(run, evidence, {
      first,
      others: [one, other],
      differencesOf: () => ['address'],
    });
    tests.firstPasses = 5;
    await tests.make();
    // The four of the other, between those of the first, and its test can be made again.
    expect(evidence.decisions.filter(({ passed }) => passed)).toHaveLength(5 + 4 + 1);
    expect([tests.done, tests.areNeeded]).toEqual([[], true]);
  },
);

test('another caller is not asked while the first is not refused', async () => {
  const server = new LimitedServer(perKey(tokenBucket(5, 300)), () => 'all');
  const { request, clock } = server;
  const [paceMs, timeoutMs] = [20, 60_000];
  const run = new Run({ request, ...clock, refused: [429], budget: 200, paceMs, timeoutMs });
  const evidence = new Evidence(1_000);
  const [first, other] = ['one', 'two'].map((caller): Subject => ({ caller, path: '/' }));
  if (first === undefined || other === undefined) throw new Error('no callers');
  for (let asked = 0; asked < 8; asked += 1) evidence.add(await run.ask(first));
  server.now += 300;
  // Each token is back before the next request.
  server.takesMs = () => 70;
  const differencesOf = () => ['address'];
  const tests = new KeyTests(run, evidence, { first, others: [other], differencesOf });
  tests.firstPasses = 5;
  await tests.make();
  expect(run.exchanges.filter(({ caller }) => caller === 'two')).toEqual([]);
});

test('a request without a reply is no refusal, if it is added late', () => {
  const evidence = new Evidence(1_000);
  const sent = { caller: 'one', path: '/', headers: {}, answeredAt: 0 };
  evidence.addLate([
    { ...sent, number: 1, sentAtMs: 0, answeredAtMs: 2, status: 200, outcome: 'passed' },
    { ...sent, number: 2, sentAtMs: 5, answeredAtMs: 9, status: 0, outcome: 'broken' },
  ]);
  expect(evidence.numbers).toEqual([1]);
});

/** A race of eight, after five of a sliding log had passed; the last decided is answered first. */
async function raceAnsweredBackwards(change: (evidence: Evidence) => void = () => {}) {
  const { request: ask, clock } = new LimitedServer(perKey(slidingLog(5, 300)));
  const begun: (() => void)[] = [];
  // All are decided at first; the last decided is answered first.
  const request = async (subject: Subject) => {
    const reply = ask(subject);
    if (isRace) await new Promise<void>((resolve) => begun.push(resolve));
    return reply;
  };
  let isRace = false;
  const [paceMs, timeoutMs] = [20, 60_000];
  const run = new Run({ request, ...clock, refused: [429], budget: 200, paceMs, timeoutMs });
  const evidence = new Evidence(1_000);
  const first: Subject = { caller: 'one', path: '/' };
  for (let asked = 0; asked < 8; asked += 1) evidence.add(await run.ask(first));
  await clock.sleep(320);
  isRace = true;
  change(evidence);
  const races = new Races(run, first, evidence);
  const racing = races.raceForEvidence(8);
  for (const answer of begun.toReversed()) {
    await clock.sleep(1);
    answer();
    await new Promise(setImmediate);
  }
  return { evidence, races, areAllConsidered: await racing };
}

test('replies of a race that overtake each other do not exclude the limiter', async () => {
  const { evidence, areAllConsidered } = await raceAnsweredBackwards();
  const logs = evidence.candidates.filter(
    ({ family, version }) =>
      family.name === 'sliding_log' && family.refusals === 'free' && version.limit[1] === 5,
  );
  const found = logs.filter(
    ({ version: { windowMs } }) => windowMs[0] <= 300 && windowMs[1] >= 300,
  );
  expect(found).not.toEqual([]);
  // Refusals may still count by some that remain.
  expect(areAllConsidered).toBe(false);
});

test('a race in which refusals overtook passes may have counted, if nothing explained it', async () => {
  const { evidence, races } = await raceAnsweredBackwards((each) => {
    each.couldPass = () => false;
  });
  const counts = races.unexplained.map((each) => each.flat().length);
  expect(counts).toEqual([8, 5]);
  expect(races.finish()).toEqual([]);
  expect(evidence.mayLackRequests).toBe(true);
});
