/**
 * Bugs are planted in the served process: a long run must complain about each. `test:all` tries
 * one of them, SMSTWIN_RUNS=6 all.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { sample } from '../testkit/runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-catches-'));
afterAll(() => rmSync(folder, { recursive: true }));

const source = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
const kill = '--kills 1 --sends 1';

/** Preloaded into every process of the run, which it changes if it is the service. */
const preload = (bug: string) => `
import { FileJournal } from ${source('../../src/recording/journal/journal-writer.ts')};
import { Simulator } from ${source('../../src/simulator.ts')};
import { Simulation } from ${source('../../src/simulation/simulation.ts')};
let accepted = 0;
const isAccepted = ({ status }) => status === 202;
const isFifth = (reply) => isAccepted(reply) && ++accepted % 5 === 0;
function change(type, method, by) {
  const original = type.prototype[method];
  type.prototype[method] = function (given) {
    // A bug of requests does not change how a journal is replayed.
    const isReplay = this.baseUrl === '';
    return isReplay ? original.call(this, given) : by(original.bind(this), given);
  };
}
if (process.argv[2] === 'serve') { ${bug} }
`;

const bugs: readonly (readonly [string, string, string, RegExp])[] = [
  [
    'an acknowledged send that is lost in a restart',
    kill,
    `change(FileJournal, 'requests', (record, exchanges) => {
      accepted += exchanges.filter(isAccepted).length;
      if (accepted < 50) record(exchanges);
    });`,
    /replay of id-\d+: a second message after \d+ ms/,
  ],
  [
    'a message that exists twice',
    kill,
    `change(Simulator, 'handle', (handle, request) => {
      const reply = handle(request);
      const body = String(request.body).replace(/"request_id":"[^"]*"/, '"request_id":""');
      if (isFifth(reply)) handle({ ...request, body });
      return reply;
    });`,
    /send \d+ exists twice/,
  ],
  [
    'a replay with other bytes',
    kill,
    `change(Simulator, 'handle', (handle, request) => {
      const reply = handle(request);
      if (request.method !== 'POST' || reply.status !== 200) return reply;
      return { ...reply, body: reply.body.replace('queued', 'sending') };
    });`,
    /replay of id-\d+: .*sending/,
  ],
  [
    'a rule that is broken in a journal',
    kill,
    `change(Simulation, 'handle', (handle, request) => {
      const handled = handle(request);
      if (!isAccepted(handled.reply)) return handled;
      const body = handled.reply.body.replace('"status":"queued"', '"status":"sending"');
      return { ...handled, reply: { ...handled.reply, body } };
    });`,
    /STATE-1: expected/,
  ],
  [
    'an end that hangs',
    `${kill} --ending SIGTERM`,
    `change(Simulator, 'close', (close) => {
      const untilMs = Date.now() + 6_000;
      while (Date.now() < untilMs);
      return close();
    });`,
    /SIGTERM: ended after/,
  ],
  [
    'a leak',
    '--days 2 --minutes 0.2',
    `globalThis.leaked = [];
    change(Simulator, 'handle', (handle, request) => {
      globalThis.leaked.push(new Array(8_000).fill(request));
      return handle(request);
    });`,
    /heap: grew by \d+ bytes/,
  ],
];

test.each(sample(bugs, 1))(
  '%s is caught',
  (name, flags, bug, complaint) => {
    const file = join(folder, `${name.replaceAll(' ', '-')}.mjs`);
    writeFileSync(file, preload(bug));
    const program = fileURLToPath(new URL('./program.ts', import.meta.url));
    const { SMSTWIN_TEST_PROGRAM: _, ...env } = process.env;
    const imports = ['tsx', pathToFileURL(file).href].map((each) => `--import ${each}`);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [program, ...flags.split(' '), '--seed', '3'],
      { env: { ...env, NODE_OPTIONS: imports.join(' ') }, encoding: 'utf8' },
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout).complaints.join('\n')).toMatch(complaint);
    expect(status).toBe(1);
  },
  240_000,
);
