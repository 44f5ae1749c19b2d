/**
 * One court: the same exchanges get the same verdicts, whatever file holds them. A record of a
 * right client and a sound service, mutilated at random (bodies, headers, times, order, tails),
 * fails no rule: a verdict may become not exercised.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import type { NoticeTaker, TrafficEvent, TrafficExchange } from '#contract/exchange.ts';
import { CommandError } from '#io/command-error.ts';
import { latestByIntent, type ReportedIntent } from '#judging/client/intents-file.ts';
import { type JudgeOptions, judge as judgeClient } from '#judging/client/judge.ts';
import { exchangesOfTraffic } from '#judging/evidence/exchanges-of-traffic.ts';
import { withChangedLines } from '#judging/evidence/journal-line.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import { KeyNames, objectIn } from '#judging/evidence/reading.ts';
import { exchangesOf } from '#src/recording/judged-exchanges.ts';
import { Rng } from '#src/sim/random.ts';
import { Simulator } from '#src/simulator.ts';
import { faults } from '../testkit/fault-looks.ts';
import { runs, seed } from '../testkit/runs.ts';
import { bearer, requestTo } from '../testkit/twin/request.ts';
import { sendBy } from '../testkit/twin/twin.ts';
import { asHar, asRecording } from './files.ts';
import { judge } from './judge.ts';

/** Enough for thousands of runs (`SMSTWIN_RUNS`). */
const timeout = 3_600_000;
const kinds = ['journal', 'recording', 'HAR file'] as const;
type Kind = (typeof kinds)[number];

const from = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const step = fc.record({
  // Apart, so that the milliseconds of a HAR file show the order.
  gapMs: from(7, 503, 2_003, 15_011, 61_009, 90_000_007),
  does: from('send', 'send', 'send', 'read', 'received'),
  account: from(0, 0, 0, 1),
  id: from('', 'a', 'a', 'b'),
  message: from('Hi', 'Hi', 'Ho'),
  to: from('+12025550123', '+12025550161', 'nobody'),
  fault: from(undefined, undefined, 'lost_response' as const, 'truncate' as const),
} as const);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface Run {
  readonly simulator: Simulator;
  readonly journal: string;
  readonly exchanges: readonly TrafficExchange[];
}

/** What a client did that behaves at random. */
async function runOf(steps: readonly Step[]): Promise<Run> {
  const simulator = new Simulator({ clock: 'manual', limits: { send: 2 } });
  let messageId = '00000000-0000-4000-8000-000000000000';
  for (const { gapMs, does, account, id, message, to, fault } of steps) {
    simulator.clock.advance(gapMs);
    if (fault !== undefined) simulator.faults.add({ when: { nth: [1] }, fault: { kind: fault } });
    if (does === 'send') {
      const fields = { message, to, ...(id !== '' && { request_id: id }) };
      const { status, body } = sendBy(simulator, account, fields);
      if (status === 202) messageId = JSON.parse(body).message_id;
    } else {
      const path = `/api/v1/sms/${does === 'read' ? messageId : 'received'}/`;
      const { api_key: key } = simulator.readyFile().accounts[account] ?? {};
      simulator.handle(requestTo(path, { authorization: bearer(key), clientIp: '127.0.0.1' }));
    }
    simulator.faults.clear();
  }
  return recorded(simulator);
}

async function recorded(simulator: Simulator): Promise<Run> {
  const journal = simulator.journalText();
  const events = await read(journal);
  const exchanges = events.filter((event) => event !== 'cut');
  return { simulator, journal, exchanges: exchanges.map((one) => ({ ...one, isForced: false })) };
}

async function read(text: string, keys = new KeyNames()): Promise<TrafficEvent[]> {
  const events: TrafficEvent[] = [];
  for await (const list of eventsOf(text, keys, () => {})) events.push(...list);
  return events;
}

const folder = mkdtempSync(join(tmpdir(), 'smstwin-court-'));
afterAll(() => rmSync(folder, { recursive: true }));

function eventsOf(text: string | Buffer, keys: KeyNames, onNotice: NoticeTaker) {
  const file = join(folder, 'run');
  writeFileSync(file, text);
  return readTraffic([file], onNotice, keys);
}

function textOf(kind: Kind, { journal, exchanges }: Run): string {
  if (kind === 'journal') return journal;
  return kind === 'recording' ? asRecording(exchanges) : asHar(exchanges);
}

type Verdicts = Readonly<Record<string, string>>;

async function clientVerdicts(text: string, options: JudgeOptions = {}): Promise<Verdicts> {
  const keys = new KeyNames();
  const traffic = (await read(text, keys)).filter((event) => event !== 'cut');
  const { exchanges, otherReadings } = exchangesOfTraffic(traffic, keys);
  return verdictsOf(judgeClient(exchanges, { otherReadings, ...options }));
}

function verdictsOf({ rules }: ReturnType<typeof judgeClient>): Verdicts {
  return Object.fromEntries(rules.map(({ id, verdict }) => [id, verdict]));
}

test('the same exchanges get the same client verdicts from a run and from each kind of file', {
  timeout,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const run = await runOf(steps);
      const { exchangeRecord, simulation } = run.simulator;
      const exchanges = exchangesOf(exchangeRecord, simulation.world.keyRing.texts);
      const live = verdictsOf(judgeClient(exchanges));
      for (const kind of kinds)
        expect([kind, await clientVerdicts(textOf(kind, run))]).toEqual([kind, live]);
      await run.simulator.close();
    }),
    { numRuns: runs(30), seed },
  );
});

/** The verdicts on the service of what a file holds. */
async function serviceVerdicts(text: string) {
  const { failed, passed } = judge(await read(text), { isComplete: false });
  return { failed, passed };
}

test('the same exchanges get the same service verdicts from each kind of file', {
  timeout,
}, async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(steps, from(undefined, 'sending', 'queued'), async (all, status) => {
      // A fault of a journal excuses the service; a file of another recorder does not know of it.
      const run = await runOf(all.map((one) => ({ ...one, fault: undefined })));
      const exchanges = run.exchanges.map((one) => withReadOf(one, status));
      const ofRecording = await serviceVerdicts(asRecording(exchanges));
      expect(await serviceVerdicts(asHar(exchanges))).toEqual(ofRecording);
      if (status === undefined) expect(await serviceVerdicts(run.journal)).toEqual(ofRecording);
      await run.simulator.close();
    }),
    { numRuns: runs(30), seed },
  );
});

test.each(faults)(
  'a sound service under the fault $fault.kind fails no rule by its own files',
  async ({ fault }) => {
    const simulator = new Simulator({ clock: 'manual', limits: { send: 5 } });
    simulator.faults.add({ when: { every: 2 }, fault });
    for (const id of ['a', 'a', 'b', 'b', 'c', 'd', 'e', 'f']) {
      const { status, body } = sendBy(simulator, 0, { to: '+12025550123', request_id: id });
      const { message_id: sent = 'none' } = status < 300 ? (objectIn(body) ?? {}) : {};
      const authorization = bearer(simulator.readyFile().accounts[0]?.api_key);
      for (const read of [sent, 'none'])
        simulator.handle(requestTo(`/api/v1/sms/${read}/`, { authorization }));
      simulator.clock.advance(seconds(1));
    }
    const files = [simulator.journalText(), JSON.stringify(simulator.requests.har())];
    const mend =
      '`isOwn` of its row in contract/fault-kinds.ts is wrong, or a reader of these files';
    for (const text of files) expect((await serviceVerdicts(text)).failed, mend).toEqual([]);
    await simulator.close();
  },
);

/** The exchange; every read shows this status, as of a service that does not move on. */
function withReadOf(one: TrafficExchange, status: string | undefined): TrafficExchange {
  const { method, reply } = one;
  if (status === undefined || method !== 'GET' || reply?.body === undefined) return one;
  const body = reply.body.replace(/"status":"\w+"/, `"status":"${status}"`);
  return { ...one, reply: { ...reply, body } };
}

test('STATE-3 and STATE-5 a status that goes back within 400 ms fails in every kind of file', async () => {
  const run = await runOf(
    (['send', 'read', 'read', 'read', 'read'] as const).map((does, index) => ({
      gapMs: index === 1 ? 61_009 : 400,
      does,
      account: 0,
      id: 'a',
      message: 'Hi',
      to: '+12025550123',
      fault: undefined,
    })) as readonly Step[],
  );
  const statuses = ['delivered', 'sending', 'delivered', 'sending'];
  const exchanges = run.exchanges.map((one, at) => withReadOf(one, statuses[at - 1]));
  // The first is for the look at the whole text.
  const left = ['none', ...statuses];
  const journal = withChangedLines(run.journal, (line) =>
    line.includes('"method":"GET"')
      ? line.replace(/"status":"(?:queued|sending|sent|delivered)"/, `"status":"${left.shift()}"`)
      : line,
  );
  for (const text of [asRecording(exchanges), asHar(exchanges), journal])
    expect((await serviceVerdicts(text)).failed).toEqual(['STATE-3', 'STATE-5']);
  await run.simulator.close();
});

/** What a right client is to send, and what meets it. */
const plannedMessage = fc.record({
  /** Which numbers of its requests are struck. */
  struck: fc.uniqueArray(fc.nat(3), { maxLength: 2 }),
  fault: from('lost_response' as const, 'truncate' as const),
  to: from('+12025550123', '+12025550161', '+12025550173'),
  reads: fc.nat(3),
  account: from(0, 0, 1),
});
type PlannedMessage = typeof plannedMessage extends fc.Arbitrary<infer P> ? P : never;

const seconds = (count: number) => count * 1_000 + 3;

/** A client that retries under the same id, waits as it is asked to, and reports truthfully. */
async function rightRun(messages: readonly PlannedMessage[]) {
  const simulator = new Simulator({ clock: 'manual', limits: { send: 3 } });
  const reports: ReportedIntent[] = [];
  for (const [order, planned] of messages.entries()) {
    const { struck, fault, to, reads, account } = planned;
    const { api_key: key, sims = [] } = simulator.readyFile().accounts[account] ?? {};
    const message = `Message ${order}`;
    let read = '';
    let id = '';
    /** A message that failed, or whose SIM is inactive, is sent once more under a new id. */
    for (const copy of ['first', 'second']) {
      const request = { message, to, request_id: `order-${order}-${copy}` };
      // At most five attempts within a minute (CLIENT-14).
      if (copy === 'second') simulator.clock.advance(seconds(61));
      let reply: { readonly status: number; readonly body: string } | undefined;
      for (let attempt = 0; attempt < 5; attempt++) {
        const isStruck = copy === 'first' && struck.includes(attempt);
        if (isStruck) simulator.faults.add({ when: { nth: [1] }, fault: { kind: fault } });
        const answer = sendBy(simulator, account, request);
        simulator.faults.clear();
        reply = isStruck ? undefined : answer;
        const isOver = reply !== undefined && reply.status !== 429;
        const waitSeconds = Number(answer.headers?.['retry-after'] ?? 5);
        simulator.clock.advance(seconds(isOver ? 1 : waitSeconds));
        if (isOver) break;
      }
      if (reply === undefined) break;
      id = reply.status < 300 ? JSON.parse(reply.body).message_id : '';
      read = '';
      for (let count = 0; count < reads && id !== ''; count++) {
        simulator.clock.advance(seconds(31));
        const authorization = bearer(key);
        const path = `/api/v1/sms/${id}/`;
        read = JSON.parse(simulator.handle(requestTo(path, { authorization })).body).status;
        simulator.clock.advance(seconds(1));
        if (read === 'delivered' || read === 'failed') break;
      }
      const meant = { intent: `order-${order}`, to, from: sims[0]?.number ?? '', message };
      const end = read === 'delivered' ? read : 'accepted';
      const reported = id === '' ? 'failed' : end;
      reports.push({ ...meant, request_id: request.request_id, reported });
      if (read !== 'failed' && reply.status !== 503) break;
    }
  }
  return { run: await recorded(simulator), reports: latestByIntent(reports) };
}

interface Mutilation {
  readonly text: Buffer;
  readonly what: readonly string[];
}

/** Objects of a file, of which a mutilation changes some or all. */
type Changed = Record<string, never>;
type Change = (one: Changed) => void;

const changesOf: Readonly<Record<'recording' | 'HAR file', Readonly<Record<string, Change>>>> = {
  recording: {
    'request bodies': ({ request }) => omit(request, ['body'], { omitted: 90 }),
    'reply bodies': ({ reply }) => omit(reply, ['body'], { omitted: 90 }),
    'reply headers': ({ reply }) => omit(reply, ['headers']),
    'steady clock': (line) => omit(line, ['steady', 'connection']),
    'end times': (line) => omit(line, ['answered']),
  },
  'HAR file': {
    'request bodies': ({ request }) => omit(request, ['postData'], { bodySize: -1 }),
    'reply bodies': ({ response }) => omit(response, ['content'], { content: { size: 90 } }),
    'ends of request bodies': ({ request }) => {
      const text = String(Object(request)['postData']?.text ?? '');
      if (text !== '') omit(request, [], { postData: { text: text.slice(0, -9) }, bodySize: -1 });
    },
    'ends of reply bodies': ({ response }) => {
      const text = String(Object(response)['content']?.text ?? '');
      const content = { text: Buffer.from(text).toString('base64', 0, 30), encoding: 'base64' };
      omit(response, [], { content: { size: 90, ...content } });
    },
    'bodies in files': ({ response }) =>
      omit(response, ['content'], { content: { size: 90, _file: 'a.json' } }),
    'reply headers': ({ response }) => omit(response, ['headers'], { headers: [] }),
    'request headers': ({ request }) => omit(request, ['headers'], { headers: [] }),
    'end times': (entry) => omit(entry, ['time'], { time: -1 }),
    addresses: ({ request }) => omit(request, ['url']),
  },
};

function omit(from: object | undefined, names: readonly string[], instead: object = {}): void {
  if (from === undefined) return;
  for (const name of names) Reflect.deleteProperty(from, name);
  Object.assign(from, instead);
}

/** The text of a file from which parts were removed at random. */
function mutilated(kind: Kind, text: string, rng: Rng): Mutilation {
  const what: string[] = [];
  const isChosen = (name: string, share: number) => {
    const is = rng.fraction() < share;
    if (is) what.push(name);
    return is;
  };
  let changed = text;
  if (kind === 'journal' && isChosen('sends once more', 0.3)) {
    const wasAccepted = (line: string) => line.includes('"status":202') && rng.fraction() < 0.5;
    changed = text.replace(/^.*\n/gm, (line) => (wasAccepted(line) ? line + line : line));
  } else if (kind !== 'journal') {
    const file = kind === 'recording' ? undefined : JSON.parse(text);
    const parts: Changed[] =
      file?.log.entries ??
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    for (const [name, change] of Object.entries(changesOf[kind])) {
      if (!isChosen(name, 0.25)) continue;
      const share = rng.fraction() < 0.3 ? 1 : 0.3;
      for (const part of parts) if (rng.fraction() < share) change(part);
    }
    if (kind === 'HAR file' && isChosen('fractions', 0.3)) {
      for (const part of parts)
        omit(part, [], { startedDateTime: String(part['startedDateTime']).replace(/\.\d+/, '') });
    }
    if (isChosen('order', 0.3)) parts.sort(() => rng.fraction() - 0.5);
    changed = file
      ? JSON.stringify(file)
      : parts.map((part) => `${JSON.stringify(part)}\n`).join('');
  }
  const bytes = isChosen('plain', 0.7) ? Buffer.from(changed) : gzipSync(changed);
  // What the cut leaves of shuffled lines may be in order, and then looks like the first of all
  // lines.
  const mayBeCut = kind !== 'recording' || !what.includes('order');
  let length = isChosen('tail', 0.3) && mayBeCut ? rng.below(bytes.length) : bytes.length;
  // A file that is cut where a line ends looks like a whole one.
  while (length < bytes.length && bytes.subarray(length - 1, length + 1).includes('\n')) length--;
  return { text: bytes.subarray(0, length), what };
}

test.each(kinds)(
  'a mutilated %s accuses no right client and no sound service',
  { timeout },
  async (kind) => {
    const planned = fc.array(plannedMessage, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(planned, fc.integer(), async (messages, salt) => {
        const { run, reports } = await rightRun(messages);
        const whole = await judged(textOf(kind, run), reports);
        expect(whole).toEqual([]);
        for (let count = 0; count < 4; count++) {
          const { text, what } = mutilated(kind, textOf(kind, run), Rng.stream(salt, `${count}`));
          expect([what, await judged(text, reports)]).toEqual([what, []]);
        }
        await run.simulator.close();
      }),
      { numRuns: runs(12), seed },
    );
  },
);

/** What of a file fails a rule, or is advice for its client. */
async function judged(
  text: string | Buffer,
  reports: readonly ReportedIntent[],
): Promise<readonly string[]> {
  let lack: string | undefined;
  let hasGaps = false;
  const keys = new KeyNames();
  const events: TrafficEvent[] = [];
  try {
    for await (const list of eventsOf(text, keys, (line, lacks) => {
      if (lacks !== undefined) lack ??= line;
      if (lacks === 'some') hasGaps = true;
    }))
      events.push(...list);
  } catch (error) {
    // A file may lose its beginning.
    if (error instanceof CommandError) return [];
    throw error;
  }
  const traffic = events.filter((event) => event !== 'cut');
  const { exchanges, otherReadings } = exchangesOfTraffic(traffic, keys);
  const options = { otherReadings, reports, lack, hasGaps };
  const { rules } = judgeClient(exchanges, options);
  return [
    ...rules.flatMap(({ id, findings }) => findings.map(({ what }) => `${id}: ${what}`)),
    ...judge(events, { isComplete: false }).complaints,
  ];
}
