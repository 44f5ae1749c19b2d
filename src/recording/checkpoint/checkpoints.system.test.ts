import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { lineOf } from '#judging/evidence/journal-line.ts';
import { wrongSimulation } from '#verify/defects/catalogue.ts';
import {
  checkpointNumber,
  checkpointTaken,
  copyFiles,
  filesOf,
  headerOfFile,
  nextTurn,
} from '#verify/testkit/journal-files.ts';
import { runs } from '#verify/testkit/runs.ts';
import { outcomeOf, someCommands } from '#verify/testkit/twin/random-commands.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { type SettingsInput, Simulator, type SimulatorOptions } from '../../simulator.ts';
import { checkpointOpening } from '../journal/run-files.ts';

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-checkpoints-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const newFile = () => join(folder, `${++files}.ndjson`);

const settings: SettingsInput = { clock: 'manual', seed: 7, noLimits: true };
/** A checkpoint every few inputs. */
const journalMaxBytes = 8_192;
const soon: SimulatorOptions = { journalMaxBytes };

function start(journal: string, options: SimulatorOptions = soon, own = settings): Simulator {
  return new Simulator(own, { journal, ...options });
}

function sendOn(simulator: Simulator, count: number): void {
  for (let n = 0; n < count; n++) sendBy(simulator, n % 2, { request_id: `${n}` });
}

/** A closed journal that goes on from a checkpoint, with some inputs after it. */
async function journalWithCheckpoint(): Promise<string> {
  const file = newFile();
  const simulator = start(file);
  sendOn(simulator, 15);
  await checkpointTaken(file, 1);
  sendBy(simulator, 0, { request_id: 'after' });
  await simulator.close();
  return file;
}

const stateOf = (simulator: Simulator) =>
  JSON.stringify([simulator.snapshots.take(), simulator.readyFile(), simulator.state().requests]);

test('SEND-4 a run that goes on from checkpoints answers like one that never stopped', async () => {
  await fc.assert(
    fc.asyncProperty(someCommands, someCommands, someCommands, async (...parts) => {
      const file = newFile();
      const own: SettingsInput = { clock: 'manual', seed: 3 };
      const stayed = new Simulator(own);
      let stopped = start(file, { journalMaxBytes: 2 }, own);
      for (const [index, commands] of parts.entries()) {
        for (const command of commands)
          expect(outcomeOf(stopped, command)).toBe(outcomeOf(stayed, command));
        const before = checkpointNumber(file);
        stayed.limits.patch({ read: 1 });
        stopped.limits.patch({ read: 1 });
        await checkpointTaken(file, before + 1);
        await stopped.close();
        expect(replayJournal(file).differing).toBe(0);
        stopped = start(file, { journalMaxBytes: 2 }, own);
        if (index > 0) expect(stateOf(stopped)).toBe(stateOf(stayed));
      }
      await Promise.all([stopped.close(), stayed.close()]);
    }),
    { numRuns: runs(2) },
  );
});

test('a journal stays below its bound, and its checkpoint replaces what came before', async () => {
  const file = newFile();
  const simulator = start(file);
  for (let n = 0; n < 200; n++) {
    sendBy(simulator, 0, { request_id: `${n}` });
    // Not every turn: the threads that write the checkpoint need the processor.
    while (statSync(file).size > journalMaxBytes) await pause(1);
  }
  expect(simulator.state().messages.total).toBe(200);
  await simulator.close();
  const { checkpoint } = headerOfFile(file);
  expect(checkpoint?.number).toBeGreaterThan(5);
  expect(filesOf(file)).toEqual([
    basename(file),
    `${basename(file)}.checkpoint-${checkpoint?.number}`,
  ]);
  const again = start(file);
  expect(again.state()).toMatchObject({ requests: 200, messages: { total: 200 } });
  expect(sendBy(again, 0, { request_id: '0' }).status).toBe(200);
  await again.close();
});

test('inputs that come while a checkpoint is written are in it or in the journal, once', async () => {
  const file = newFile();
  const simulator = start(file);
  const twin = new Simulator(settings);
  for (let number = 1, n = 0; number < 6; number = checkpointNumber(file) + 1, n++) {
    for (const each of [simulator, twin]) sendBy(each, 0, { request_id: `${n}` });
    await nextTurn();
  }
  await simulator.close();
  const again = start(file);
  expect(stateOf(again)).toBe(stateOf(twin));
  await Promise.all([again.close(), twin.close()]);
});

const sizeOf = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.size;

test('the files of a process killed at any moment of a checkpoint start again', async () => {
  const file = newFile();
  const simulator = start(file);
  const twin = new Simulator(settings);
  const states = new Map<string, string>();
  for (let n = 0; checkpointNumber(file) < 3; n++) {
    for (const each of [simulator, twin]) sendBy(each, 0, { request_id: `${n}` });
    const left = JSON.stringify(
      filesOf(file).map((name) => [name, sizeOf(join(dirname(file), name))]),
    );
    const copy = copyFiles(file, join(folder, `left-${n}`));
    states.set(left, copy);
    const again = start(copy);
    expect(stateOf(again)).toBe(stateOf(twin));
    sendBy(again, 1, { request_id: 'more' });
    await again.close();
    expect(replayJournal(copy).differing).toBe(0);
    // Leftovers of the interrupted checkpoint are gone.
    expect(filesOf(copy).length).toBeLessThanOrEqual(2);
    await nextTurn();
  }
  expect(states.size).toBeGreaterThan(20);
  await Promise.all([simulator.close(), twin.close()]);
});

/** How many messages that still move together were accepted at each time. */
function createdIn({ simulation }: Simulator): Map<number | undefined, number> {
  const counts = new Map<number | undefined, number>();
  for (const { createdPairs: created = [] } of simulation.world.messages.cohorts) {
    for (let at = 0; at < created.length; at += 2)
      counts.set(created[at], (counts.get(created[at]) ?? 0) + (created[at + 1] ?? 0));
  }
  return counts;
}

test('messages that change while a checkpoint is written are in it as they were', async () => {
  const file = newFile();
  const own: SettingsInput = { ...settings, maxMessages: 7_000 };
  const simulator = start(file, { journalMaxBytes: 2 ** 23 }, own);
  const twin = new Simulator(own);
  const both = (act: (each: Simulator) => unknown) => [simulator, twin].forEach(act);
  const sendTo = (sent: number) =>
    both((each) => sendBy(each, sent % 2, { request_id: `${sent}` }));
  const isUnderWay = () => existsSync(`${file}.checkpoint-1`);
  let sent = 0;
  for (; !isUnderWay(); sent++) {
    sendTo(sent);
    if (sent % 3_000 === 2_999) both((each) => each.clock.advance('25s'));
    if (sent % 100 === 0) await nextTurn();
  }
  // Messages of every chunk change, and the oldest are forgotten.
  const waiting = twin.messages.list({ status: 'queued', limit: 1_000 });
  for (let at = 0; checkpointNumber(file) === 0; at++, sent++) {
    sendTo(sent);
    const { message_id: id = '' } = waiting[(at * 997) % waiting.length] ?? {};
    both((each) => each.messages.get(id).status === 'queued' && each.messages.fail(id));
    await nextTurn();
  }
  await simulator.close();
  const again = start(file, {}, own);
  expect(again.simulation.world.messages.retention.forgottenMessages).toBeGreaterThan(100);
  expect(stateOf(again)).toBe(stateOf(twin));
  expect(again.invariants().broken).toEqual([]);
  // The metrics that change at the next poll.
  expect(createdIn(again)).toEqual(createdIn(twin));
  await Promise.all([again.close(), twin.close()]);
});

test('a simulator that closes while a checkpoint is written leaves the journal as it was', async () => {
  const file = newFile();
  const simulator = start(file);
  sendOn(simulator, 15);
  for (let turns = 0; turns < 3; turns++) await nextTurn();
  await simulator.close();
  expect(filesOf(file)).toEqual([basename(file)]);
  const again = start(file);
  expect(again.state().messages.total).toBe(15);
  await again.close();
});

test('a replay starts from the checkpoint and plays the inputs after it', async () => {
  const file = await journalWithCheckpoint();
  const { header, inputs, differing } = replayJournal(file);
  expect(inputs).toBe(16 - (header.checkpoint?.inputs ?? 0));
  expect(differing).toBe(0);
});

test('a longer journal without a checkpoint starts as before, and gets one', async () => {
  const file = newFile();
  const first = start(file, {});
  sendOn(first, 30);
  await first.close();
  expect(checkpointNumber(file)).toBe(0);
  const again = start(file);
  await checkpointTaken(file, 1);
  expect(headerOfFile(file).checkpoint?.inputs).toBe(30);
  expect(again.state().messages.total).toBe(30);
  await again.close();
});

test('an incomplete last line after a checkpoint is reported and skipped', async () => {
  const file = await journalWithCheckpoint();
  appendFileSync(file, '{"at":"2026-01-01T00:00');
  const notices: string[] = [];
  const again = start(file, { ...soon, onNotice: (line) => notices.push(line) });
  expect(notices).toEqual([`${file}: the last line is incomplete and was ignored`]);
  expect(again.state().messages.total).toBe(16);
  await again.close();
});

test.each([
  ['is damaged', (bytes: Buffer) => bytes.fill(0, bytes.length >> 1, (bytes.length >> 1) + 1)],
  ['is damaged', (bytes: Buffer) => bytes.subarray(0, -1)],
  ['is damaged', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('x')])],
  ['is damaged', () => Buffer.alloc(0)],
  ['is missing', () => undefined],
])('a checkpoint that %s is named, and nothing is changed', async (state, damage) => {
  const file = await journalWithCheckpoint();
  const checkpoint = `${file}.checkpoint-1`;
  const intact = readFileSync(checkpoint);
  const damaged = damage(Buffer.from(intact));
  if (damaged === undefined) rmSync(checkpoint);
  else writeFileSync(checkpoint, damaged);
  // The files that a start from the intact checkpoint would remove.
  writeFileSync(`${file}.next`, '{"journal":2,"smstwin":"left behind');
  const left = readdirSync(folder);
  const refusal = new RegExp(`^${checkpoint}: the checkpoint of ${file} ${state}; put [^\n]*$`);
  expect(() => start(file)).toThrow(refusal);
  expect(() => replayJournal(file)).toThrow(refusal);
  expect(readdirSync(folder)).toEqual(left);
  writeFileSync(checkpoint, intact);
  const again = start(file);
  expect(again.state().messages.total).toBe(16);
  await again.close();
});

test.each([
  { number: 0 },
  { file: '../other' },
  { sha256: 'x' },
  { bytes: -1 },
  { at: 'yesterday' },
  { inputs: 0.5 },
])('a header whose checkpoint has %j is damaged', async (change) => {
  const file = await journalWithCheckpoint();
  const [, ...lines] = readFileSync(file, 'utf8').split('\n');
  const header = headerOfFile(file);
  const changed = { ...header, checkpoint: { ...header.checkpoint, ...change } };
  writeFileSync(file, `${lineOf({ ...changed, crc32: undefined })}${lines.join('\n')}`);
  const [field] = Object.keys(change);
  const refusal = `${file}: the first line is damaged: checkpoint.${field}: `;
  expect(() => start(file)).toThrow(refusal);
  expect(() => replayJournal(file)).toThrow(refusal);
});

test('a checkpoint that cannot be written is reported once, and the run goes on', async () => {
  const file = newFile();
  const notices: string[] = [];
  const simulator = start(file, { ...soon, onNotice: (line) => notices.push(line) });
  mkdirSync(`${file}.checkpoint-1`);
  for (let n = 0; n < 60; n++) {
    sendBy(simulator, 0, { request_id: `${n}` });
    await nextTurn();
  }
  while (notices.length === 0) await nextTurn();
  expect(notices).toEqual([
    `${file}: cannot write the checkpoint ${file}.checkpoint-1 (EEXIST); ` +
      'the run goes on, and the journal grows until a checkpoint can be written',
  ]);
  rmdirSync(`${file}.checkpoint-1`);
  for (let n = 60; checkpointNumber(file) === 0; n++) {
    sendBy(simulator, 0, { request_id: `${n}` });
    await nextTurn();
  }
  expect(notices).toHaveLength(1);
  await simulator.close();
});

test('a journal behind a symbolic link stays there, with its checkpoint next to it', async () => {
  const file = newFile();
  const link = join(folder, `link-${files}`);
  writeFileSync(file, '', { mode: 0o640 });
  symlinkSync(file, link);
  const simulator = start(link);
  sendOn(simulator, 15);
  await checkpointTaken(file, 1);
  expect(() => start(link)).toThrow('writes this journal');
  await simulator.close();
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(lstatSync(file).mode & 0o777).toBe(0o600);
  const again = start(link);
  expect(again.state().messages.total).toBe(15);
  await again.close();
});

test('AUTH-2 no file of a journal holds a full key, and every key is known after a restart', async () => {
  const file = newFile();
  const first = start(file);
  const { account_id: id } = first.accounts.create({ name: 'late' });
  first.assumptions.patch({ keyFormat: 'other-' });
  const { key } = first.accounts.createKey(id, { name: 'second' });
  sendOn(first, 15);
  await checkpointTaken(file, 1);
  const ready = first.readyFile();
  await first.close();
  const again = start(file);
  expect(again.readyFile()).toEqual(ready);
  sendOn(again, 15);
  await checkpointTaken(file, 2);
  await again.close();
  const third = start(file);
  expect(third.readyFile()).toEqual(ready);
  await third.close();
  const whole = readFileSync(file, 'utf8') + partsOf(`${file}.checkpoint-2`).join('\n');
  expect(whole).toContain('"name":"late"');
  for (const text of [key, ...ready.accounts.map((one) => one.api_key)])
    expect(whole).not.toContain(text);
});

function partsOf(checkpoint: string): string[] {
  const bytes = readFileSync(checkpoint);
  const parts: string[] = [];
  for (let at = checkpointOpening.length; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    parts.push(brotliDecompressSync(bytes.subarray(at + 4, end)).toString('latin1'));
    at = end;
  }
  return parts;
}

test('a planted defect is there after a restart from a checkpoint', async () => {
  const file = newFile();
  const own: SettingsInput = { clock: 'manual', seed: 7 };
  const options = { ...soon, simulation: wrongSimulation('throttled-send-queues') };
  const wrong = start(file, options, own);
  for (let n = 0; n < 120; n++) sendBy(wrong, 0, {});
  await checkpointTaken(file, 1);
  await wrong.close();
  const again = start(file, options, own);
  expect(sendBy(again, 0, {}).status).toBe(429);
  expect(again.state().messages.total).toBe(121);
  await again.close();
});

test('GET /control/journal gives the inputs since the checkpoint, and names it', async () => {
  const file = await journalWithCheckpoint();
  const simulator = start(file);
  const [header = '', ...lines] = simulator.journalText().trimEnd().split('\n');
  expect(JSON.parse(header)).toMatchObject({ checkpoint: { number: 1 } });
  expect(lines.length).toBe(16 - (headerOfFile(file).checkpoint?.inputs ?? 0));
  await simulator.close();
});
