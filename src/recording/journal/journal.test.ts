import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { JournalError, lineOf, withChangedLines } from '#judging/evidence/journal-line.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { type SettingsInput, Simulator } from '../../simulator.ts';
import { rememberedCharacters, rememberedInputs } from './journal.ts';
import { FileJournal, journalTextLimitBytes } from './journal-writer.ts';
import { journalFiles } from './run-files.ts';

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-journal-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const newFile = () => join(folder, `${++files}.ndjson`);

const explicitKey = 'an-explicit-key-of-a-world-file';
const settings: SettingsInput = {
  clock: 'manual',
  seed: 7,
  world: {
    accounts: [
      { name: 'acme', keys: [{ name: 'k', key: explicitKey }], sims: [{ number: '+12025550101' }] },
      { name: 'globex', sims: [{ number: '+12025550111' }] },
    ],
  },
};

/** A run that uses every kind of operation. */
function run(simulator: Simulator): void {
  sendBy(simulator, 0, { request_id: 'a' });
  sendBy(simulator, 0, { request_id: 'a' });
  sendBy(simulator, 1, { to: 'nonsense' });
  const account = simulator.accounts.create({ name: 'hooli', monthly_quota: 5 });
  const { key } = simulator.accounts.createKey(account.account_id, { name: 'second' });
  const sim = simulator.sims.create(account.account_id, { number: '+12025550177' });
  call(simulator, `Bearer ${key}`, { from: '+12025550177' });
  call(simulator, 'Bearer unknown', {});
  call(simulator, undefined, {});
  call(simulator, `Bearer ${key}`, { from: '+12025550177' }, 'gzip');
  simulator.faults.add({ when: { probability: 0.5 }, fault: { kind: 'status', status: 500 } });
  for (let n = 0; n < 6; n++) sendBy(simulator, 0, {});
  simulator.faults.clear();
  simulator.clock.advance('25s');
  simulator.sims.poll(sim.device_id);
  simulator.outcomes.put({ outcomes: [{ to: '+1*', ends: 'failed', in: 'sending' }] });
  simulator.assumptions.patch({ pollIntervalSeconds: 3 });
  simulator.limits.patch({ send: 40 });
  simulator.sims.receive(account.account_id, { from: 'x', to: '+12025550177', message: 'hi' });
  simulator.sims.patch(sim.device_id, { active: false });
  sendBy(simulator, 1, {});
  simulator.messages.advanceUntil({ match: { status: 'failed' }, timeout_ms: 60_000 });
  expect(() => simulator.messages.advanceUntil({ count: 99, timeout_ms: 10_000 })).toThrow();
  expect(() => simulator.accounts.create({ name: 'hooli' })).toThrow();
  simulator.clock.advance({ until_idle: true });
}

function call(
  simulator: Simulator,
  authorization: string | undefined,
  body: Readonly<Record<string, unknown>>,
  contentEncoding?: string,
): void {
  simulator.handle({
    method: 'POST',
    path: '/api/v1/sms/send/',
    query: '',
    authorization,
    contentType: 'application/json',
    contentEncoding,
    clientIp: '10.0.0.1',
    forwardedFor: undefined,
    body: Buffer.from(JSON.stringify({ to: '+12025550123', message: 'Hi', ...body })),
  });
}

test('another simulator replays a journal with identical replies', async () => {
  const file = newFile();
  const simulator = new Simulator(settings, { journal: file });
  run(simulator);
  simulator.reset();
  run(simulator);
  await simulator.close();
  const replayed = replayJournal(file);
  expect(replayed.differences).toEqual([]);
  expect(replayed.inputs).toBeGreaterThan(50);
});

test('AUTH-2 a journal holds no full key', async () => {
  const file = newFile();
  const simulator = new Simulator(settings, { journal: file });
  run(simulator);
  const keys = simulator.readyFile().accounts.map(({ api_key: key }) => key);
  const [first] = simulator.accounts.list();
  keys.push(simulator.accounts.createKey(first?.account_id ?? '', { name: 'third' }).key);
  await simulator.close();
  const text = readFileSync(file, 'utf8');
  for (const key of keys) expect(text).not.toContain(key);
});

test('a run resumes from its journal as if it had never stopped', async () => {
  const file = newFile();
  const first = new Simulator(settings, { journal: file });
  run(first);
  const before = first.messages.list();
  const { now } = first.clock.state();
  await first.close();
  const again = new Simulator(settings, { journal: file });
  expect(again.messages.list()).toEqual(before);
  expect(again.clock.state().now).toBe(now);
  expect(again.readyFile().accounts.at(-1)?.name).toBe('hooli');
  const replay = sendBy(again, 0, { request_id: 'a' });
  expect(replay.status).toBe(200);
  await again.close();
  expect(replayJournal(file).differing).toBe(0);
});

test('a resumed real clock continues at the present, or at a later last input', async () => {
  const file = newFile();
  const first = new Simulator({}, { journal: file });
  sendBy(first, 0, {});
  // The result of the jump: the clock runs on, and time after the last input is not recorded.
  const { now } = first.clock.advance('1d');
  await first.close();
  const again = new Simulator({}, { journal: file });
  const resumed = Date.parse(again.clock.state().now) - Date.parse(now);
  expect(resumed).toBeGreaterThanOrEqual(0);
  expect(resumed).toBeLessThan(60_000);
  expect(again.state().messages.delivered).toBe(1);
  await again.close();
  expect(replayJournal(file).differing).toBe(0);
});

test('an incomplete last line is reported and skipped', async () => {
  const file = newFile();
  const first = new Simulator(settings, { journal: file });
  sendBy(first, 0, {});
  await first.close();
  appendFileSync(file, '{"at":"2026-01-01T00:00:00.000Z","requ');
  expect(replayJournal(file)).toMatchObject({ inputs: 1, differing: 0, isTruncated: true });
  const notices: string[] = [];
  const again = new Simulator(settings, { journal: file, onNotice: (line) => notices.push(line) });
  expect(notices).toEqual([`${file}: the last line is incomplete and was ignored`]);
  sendBy(again, 0, {});
  await again.close();
  expect(replayJournal(file)).toMatchObject({ inputs: 2, differing: 0, isTruncated: false });
});

test('a journal of another seed or world, and a file that is not a journal, are refused in one line', async () => {
  const file = newFile();
  await new Simulator(settings, { journal: file }).close();
  const open = (other: SettingsInput) => () => new Simulator(other, { journal: file });
  expect(open({ ...settings, seed: 8 })).toThrow(/^[^\n]*another seed; start with the same[^\n]*$/);
  expect(open({ ...settings, world: {} })).toThrow(/another world/);
  const otherKey = JSON.stringify(settings).replace(explicitKey, 'another-key');
  expect(open(JSON.parse(otherKey))).toThrow(/another world/);
  const ofAnotherVersion = withChangedLines(readFileSync(file, 'utf8'), (line) =>
    line.replace(/"smstwin":"[^"]*"/, '"smstwin":"9.9.9"'),
  );
  writeFileSync(file, ofAnotherVersion);
  expect(readFileSync(file, 'utf8')).toContain('9.9.9');
  // The format decides, not the version.
  expect(replayJournal(file)).toMatchObject({ differing: 0 });
  writeFileSync(file, 'hello\n');
  expect(open(settings)).toThrow('not a journal of smstwin');
  expect(() => replayJournal(join(folder, 'missing'))).toThrow('there is no such file');
});

test.each([
  ['precious JSON', Buffer.from('{"precious":"data"}')],
  ['zeros', Buffer.alloc(100)],
  ['an image', Buffer.from('89504e470d1a000d49484452ff', 'hex')],
  ['an image with its line breaks', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
  ['a word', Buffer.from('x')],
  ['a journal of another format', Buffer.from('{"journal":4,"smstwin":"0.1.0"')],
])('%s is not a journal: it is refused and left unchanged', (_, bytes) => {
  const file = newFile();
  writeFileSync(file, bytes);
  expect(() => new Simulator(settings, { journal: file })).toThrow(
    `${file}: not a journal of smstwin; move it away, or name another journal`,
  );
  expect(() => replayJournal(file)).toThrow(`${file}: not a journal of smstwin`);
  expect(readFileSync(file)).toEqual(bytes);
  expect(existsSync(`${file}.lock`)).toBe(false);
});

test.each([
  [0, 'the journal is empty'],
  [1, 'the journal has an incomplete first line'],
  [12, 'the journal has an incomplete first line'],
  [200, 'the journal has an incomplete first line'],
])('a journal with only its first %i bytes written is started again', async (length, replayed) => {
  const file = newFile();
  await new Simulator(settings, { journal: file }).close();
  truncateSync(file, length);
  expect(() => replayJournal(file)).toThrow(`${file}: ${replayed}`);
  const notices: string[] = [];
  const again = new Simulator(settings, { journal: file, onNotice: (line) => notices.push(line) });
  expect(notices).toHaveLength(length === 0 ? 0 : 1);
  sendBy(again, 0, {});
  await again.close();
  expect(replayJournal(file)).toMatchObject({ inputs: 1, differing: 0 });
});

test('a changed reply and a damaged line are reported with their line number', async () => {
  const file = newFile();
  const simulator = new Simulator(settings, { journal: file });
  sendBy(simulator, 0, {});
  sendBy(simulator, 0, {});
  await simulator.close();
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  const changed = (from: string | RegExp, to: string) => {
    const first = withChangedLines(lines[1] ?? '', (line) => line.replace(from, to));
    return lines.with(1, first).join('\n');
  };
  writeFileSync(file, changed('"status":202', '"status":201'));
  const { differences } = replayJournal(file);
  expect(differences).toMatchObject([{ line: 2, input: 'POST /api/v1/sms/send/' }]);
  expect(() => new Simulator(settings, { journal: file })).toThrow(/line 2: POST/);
  writeFileSync(file, [lines[0], 'x', lines[2], ''].join('\n'));
  expect(() => replayJournal(file)).toThrow('line 2 is damaged');
  writeFileSync(file, changed(/"at":"20\d\d/, '"at":"zzzz'));
  expect(() => replayJournal(file)).toThrow('line 2 is damaged');
  writeFileSync(file, changed(/"at":"20\d\d/, '"at":"2006'));
  expect(replayJournal(file).differences[0]).toMatchObject({ line: 2, input: 'the clock' });
  writeFileSync(file, text.replaceAll('\n', '\r\n'));
  expect(replayJournal(file).differences).toEqual([]);
});

test('a changed bit of any line is noticed', async () => {
  const file = newFile();
  const simulator = new Simulator(settings, { journal: file });
  sendBy(simulator, 0, { message: 'Hi' });
  await simulator.close();
  const bytes = readFileSync(file);
  const from = bytes.indexOf('\n') + 1;
  const ofEach = Array.from(bytes.keys()).filter((at) => at % 7 === 0);
  for (const at of [...ofEach, bytes.length - 1]) {
    const flipped = Buffer.from(bytes);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 7));
    writeFileSync(file, flipped);
    expect(() => replayJournal(file), `byte ${at}`).toThrow(JournalError);
  }
  const inText = bytes.indexOf('Hi', from);
  bytes[inText] = 0xff;
  writeFileSync(file, bytes);
  expect(() => replayJournal(file)).toThrow(`${file}: line 2 is damaged: its checksum differs`);
});

test.each([
  ['null', 'is damaged'],
  ['5', 'is damaged'],
  ['[]', 'is damaged'],
  ['{}', 'is damaged'],
  ['{"at":0,"operation":"faults.clear","args":[],"result":""}', 'is damaged'],
  ['{"at":"AT","request":null,"reply":{}}', 'is damaged'],
  ['{"at":"AT","request":{},"reply":{}}', 'is damaged'],
  ['{"at":"AT","request":{"method":"GET","path":5},"reply":{}}', 'is damaged'],
  ['{"at":"AT","request":{"method":"GET","path":"/","body":5},"reply":{}}', 'is damaged'],
  ['{"at":"AT","request":{"method":"GET","path":"/"}}', 'is damaged'],
  [
    '{"at":"AT","request":null,"reply":{},"operation":"faults.clear","args":[],"result":""}',
    'is damaged',
  ],
  ['{"at":"AT","operation":"faults.clear","result":""}', 'is damaged'],
  ['{"at":"AT","operation":"faults.clear","args":{},"result":""}', 'is damaged'],
  ['{"at":"AT","operation":7,"args":[],"result":""}', 'is damaged'],
  ['{"at":"AT","operation":"faults.clear","args":[]}', 'is damaged'],
  ['{"at":"AT","operation":"reset","args":[],"result":""}', 'cannot be played: '],
  ['{"at":"AT","operation":"reset","args":[-1],"result":""}', 'cannot be played: '],
])('the line %s ends the replay with an error that names it', async (line, complaint) => {
  const file = newFile();
  await new Simulator(settings, { journal: file }).close();
  const ended = line.replace('AT', '2026-01-01T00:00:00.000Z');
  appendFileSync(file, ended.endsWith('}') ? lineOf(JSON.parse(ended)) : `${ended}\n`);
  for (const playing of [
    () => replayJournal(file),
    () => new Simulator(settings, { journal: file }),
  ]) {
    const error = thrownBy(playing);
    expect(error).toBeInstanceOf(JournalError);
    expect(String(error)).toContain(`${file}: line 2 ${complaint}`);
    expect(String(error)).not.toContain('\n');
  }
  expect(existsSync(`${file}.lock`)).toBe(false);
});

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

const noStart = 'started_at: expected a valid start time';
test.each([
  [{ settings: undefined }, 'settings: is missing: expected an object'],
  [{ settings: null }, 'settings: expected an object; got null'],
  [{ settings: [] }, 'settings: expected an object; got a list of 0'],
  [{ started_at: '1960-01-01T00:00:00.000Z' }, noStart],
  [{ started_at: '9999-01-01T00:00:00.000Z' }, noStart],
  [{ started_at: 1e12 }, 'started_at: expected a string, in quotes; got 1000000000000'],
  [{ started_at: null }, 'started_at: expected a string; got null'],
])('a first line with %j is damaged, and the journal is unlocked', async (change, complaint) => {
  const file = newFile();
  await new Simulator(settings, { journal: file }).close();
  const header = { ...JSON.parse(readFileSync(file, 'utf8')), ...change };
  writeFileSync(file, lineOf({ ...header, crc32: undefined }));
  const refusal = `${file}: the first line is damaged: ${complaint}`;
  expect(() => replayJournal(file)).toThrow(refusal);
  expect(() => new Simulator(settings, { journal: file })).toThrow(refusal);
  expect(existsSync(`${file}.lock`)).toBe(false);
});

test('a first line that is no JSON any more is damaged, not another kind of file', async () => {
  const file = newFile();
  await new Simulator(settings, { journal: file }).close();
  writeFileSync(file, readFileSync(file, 'utf8').replace('"seed":', '"seed"'));
  const refusal = `${file}: the first line is damaged: it is not JSON`;
  expect(() => replayJournal(file)).toThrow(refusal);
  expect(() => new Simulator(settings, { journal: file })).toThrow(refusal);
});

test('an operation on a running clock happens at one moment and replays identically', async () => {
  const file = newFile();
  let wallMs = Date.now();
  const ticking = vi.spyOn(Date, 'now').mockImplementation(() => wallMs++);
  const simulator = new Simulator({ clock: 'scaled', rate: 1_000 }, { journal: file });
  for (let n = 0; n < 5; n++) {
    simulator.clock.setMode('scaled', 500 + n);
    simulator.clock.advance('1h');
    sendBy(simulator, 0, {});
  }
  await simulator.close();
  ticking.mockRestore();
  expect(replayJournal(file)).toMatchObject({ inputs: 15, differing: 0 });
});

test('without a file, memory keeps the run since the last reset, up to a bound', async () => {
  const simulator = new Simulator({ clock: 'manual', noLimits: true });
  for (let n = 0; n <= rememberedInputs; n++) call(simulator, undefined, {});
  expect(() => simulator.journalText()).toThrow('start with --journal FILE');
  simulator.reset();
  sendBy(simulator, 0, {});
  const file = newFile();
  writeFileSync(file, simulator.journalText());
  expect(replayJournal(file)).toMatchObject({ inputs: 1, differing: 0 });
  await simulator.close();
});

test('memory is also bounded by characters, request lines included', async () => {
  const simulator = new Simulator({ clock: 'manual', noLimits: true });
  const query = 'x'.repeat(16_000);
  for (let n = 0; n <= rememberedCharacters / 16_000; n++) {
    const head = { method: 'GET', path: '/api/v1/account/stats/', query, body: '' };
    const caller = { authorization: undefined, clientIp: '10.0.0.1', forwardedFor: undefined };
    simulator.handle({ ...head, ...caller, contentType: undefined });
  }
  expect(() => simulator.journalText()).toThrow('too long for memory');
  await simulator.close();
});

test('a journal file too large for one reply is refused with its size', async () => {
  const file = newFile();
  const simulator = new Simulator(settings, { journal: file });
  truncateSync(file, journalTextLimitBytes + 1);
  expect(() => simulator.journalText()).toThrow(
    'has 268435457 bytes, too many for one reply: read the file',
  );
  await simulator.close();
});

test.runIf(existsSync('/dev/full'))(
  'an input that cannot be recorded is not answered, and neither is any later one',
  () => {
    const file = newFile();
    const journal = new FileJournal(file, journalFiles(file), () => {}, openSync('/dev/full', 'a'));
    const record = (name: string) => () => journal.operation(1, name, [], '');
    expect(record('first')).toThrow(/^[^\n]*ndjson: cannot be written: .*ENOSPC/);
    expect(record('second')).toThrow('cannot be written');
    expect(journal.failure).toContain('ENOSPC');
    journal.close();
  },
);
