/**
 * The command with clients in Node and in Python: correct ones are explored completely; planted
 * bugs are found with the fewest faults, and their files replay them.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../testkit/doc-commands.ts';
import { loader, program } from '../testkit/processes/program.ts';
import { runs } from '../testkit/runs.ts';
import { clientPath, runExplore } from './explore-process.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-explore-clients-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The flags have a short timeout, because these clients run in real time. */
const languages = {
  node: ['env', 'CLIENT_TIMEOUT=1.5', 'node', clientPath('patient.mjs')],
  python: ['env', 'CLIENT_TIMEOUT=1.5', 'python3', clientPath('patient.py')],
} as const;
const flags = ['--slow', '100ms', '--jobs', '4'];

/**
 * A reply that refuses and one that is lost: each run is a process. `planted.system.test.ts` explores the
 * same client in this process under all faults.
 */
const some = 'throttle,lost_response';

const bugs = [
  { bug: 'reset-taken-for-success', faults: 'refuse,reset', cause: 'not_accepted', size: 1 },
  { bug: 'impatient-with-second-429', faults: 'throttle,refuse', cause: 'CLIENT-1', size: 2 },
  { bug: 'new-id-after-third-close', faults: 'refuse,lost_response', cause: 'CLIENT-5', size: 3 },
] as const;

/**
 * More faults take tens of processes each, and are found in this process, too: `SMSTWIN_RUNS=3` and
 * `planted.system.test.ts`.
 */
const depth = runs(1);
const chosen = bugs.filter(({ size }) => size <= depth);
const rightDepth = Math.min(depth, 2);

// The search is the same for each language: one shows what the other does, in a minute less.
describe.each(Object.entries(languages))('%s', (language, command) => {
  test.runIf(language === 'node')(
    `a right client is exhausted to depth ${rightDepth}, and nothing is found`,
    async () => {
      const { exitCode, out } = await runExplore([
        ...flags,
        '--depth',
        `${rightDepth}`,
        '--faults',
        some,
        '--',
        ...command,
        'none',
        '1',
      ]);
      // A client that is held up times out by itself, and makes a call more.
      expect(out).toMatch(
        /explored (\d+) of \1 single faults(?: and (\d+) of \2 pairs)?: all to depth \d, with throttle waits of \d+ s alone/,
      );
      expect(exitCode).toBe(0);
    },
  );

  test.each(language === 'node' ? chosen : bugs.filter(({ size }) => size === 1))(
    '$bug is found with $size faults, and its schedule repeats it',
    async (planted) => {
      const { bug, faults, cause, size } = planted;
      const out = join(folder, `${language}-${bug}`);
      const faulty = [...command, bug, '1'];
      const options = ['--depth', String(size), '--faults', faults, '--out', out];
      const found = await runExplore([...flags, ...options, '--', ...faulty]);
      expect(found.exitCode).toBe(1);
      const files = [...found.out.matchAll(/finding-\d+\.json/g)].map(([name]) => join(out, name));
      const findings = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
      const at = findings.findIndex((one) => one.cause === cause);
      expect(findings[at]?.schedule).toHaveLength(size);
      const file = files[at] ?? '';
      const again = await runExplore([...flags, '--schedule', file, '--', ...faulty]);
      expect(again.exitCode).toBe(1);
      const mended = await runExplore([
        ...flags,
        '--schedule',
        file,
        '--',
        ...command,
        'none',
        '1',
      ]);
      expect(mended.exitCode).toBe(0);
    },
    120_000,
  );
});

test('--rate makes a Node command live as fast as the service', async () => {
  const argv = ['--rate', '15', '--depth', '1', '--faults', 'throttle,hang'];
  const { exitCode, out } = await runExplore([
    ...argv,
    '--',
    'node',
    clientPath('patient.mjs'),
    'none',
    '1',
  ]);
  expect(out).toContain('explored 2 of 2 single faults: exhaustive to depth 1');
  expect(exitCode).toBe(0);
});

test('the tests of a finding fail for its client, and are skipped while it is explored', async () => {
  const out = join(folder, 'ready');
  const faulty = [...languages.node, 'reset-taken-for-success', '1'];
  await runExplore(['--depth', '1', '--faults', 'reset', '--out', out, '--', ...faulty]);
  const env = { ...process.env, SMSTWIN: [process.execPath, ...loader, program].join(' ') };
  const own = { cwd: out, encoding: 'utf8', env } as const;
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const byVitest = spawnSync(process.execPath, [vitest, 'run', '--root', out], own);
  expect(byVitest.status).toBe(1);
  expect(byVitest.stdout + byVitest.stderr).toContain(
    'FAILED  not_accepted  reset at send 1, attempt 1',
  );
  const nested = await runExplore(['--', 'node', vitest, 'run', '--root', out]);
  expect(nested.exitCode).toBe(4);
  expect(nested.error).toContain('the command made no request to the service');
  const byPytest = spawnSync('python3', ['-c', pytestByHand], own);
  expect(byPytest.status).toBe(1);
  expect(byPytest.stderr).toContain('FAILED  not_accepted  reset at send 1, attempt 1');
  const explored = { ...own, env: { ...env, SMSTWIN_EXPLORE: '1' } };
  expect(spawnSync('python3', ['-c', pytestByHand], explored).status).toBe(0);
});

/** Calls the client as pytest does, which a machine may not have. */
const pytestByHand =
  'import test_finding_1; test_finding_1.test_the_client_is_sound_under_finding_1()';
