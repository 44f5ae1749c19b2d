/**
 * `smstwin explore` with commands that cannot be explored, or that behave badly: each ends with its
 * exit code and one line that says why.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientPath, runExplore, runExploreProcess } from './explore-process.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-explore-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const patient = ['node', clientPath('patient.mjs')];
const quick = ['--depth', '1', '--faults', 'throttle'];

/** A script of its own, in JavaScript. */
function script(name: string, source: string): string[] {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, source);
  return ['node', file];
}

test('a command that never calls the service: 4', async () => {
  const { exitCode, error } = await runExplore(['--', 'node', '-e', '0']);
  expect(exitCode).toBe(4);
  expect(error).toContain(
    'the command made no request to the service: does it use SMSTWIN_BASE_URL?',
  );
});

test('a command that ignores the variables: 4', async () => {
  const ignorant = script(
    'ignorant',
    "await fetch('http://127.0.0.1:9/api/v1/sms/send/', { method: 'POST' }).catch(() => {});",
  );
  const { exitCode, error } = await runExplore(['--', ...ignorant]);
  expect(exitCode).toBe(4);
  expect(error).toContain('made no request to the service');
});

test('a command that fails by itself: 4, with the end of its output', async () => {
  const failing = script(
    'failing',
    "console.log('\\u0007\\u001b[31mno database\\u001b[0m'); process.exitCode = 3;",
  );
  const { exitCode, error } = await runExplore(['--', ...failing]);
  expect(exitCode).toBe(4);
  expect(error).toContain('the command fails without any fault: exit code 3');
  expect(error).toContain('  | \uFFFDno database\n');
});

test('a command that is flaky by itself: 4', async () => {
  const file = join(folder, 'count');
  const flaky = script(
    'flaky',
    `import { appendFileSync, readFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(file)}, 'x');
process.argv = ['', '', 'none', '1'];
const { run } = await import(${JSON.stringify(clientPath('patient.mjs'))});
const { SMSTWIN_BASE_URL: baseUrl, SMSTWIN_API_KEY: apiKey, SMSTWIN_FROM: from } = process.env;
await run({ fetch, baseUrl, apiKey, from }, 'none', 1);
if (readFileSync(${JSON.stringify(file)}).length % 2 === 0) process.exitCode = 1;`,
  );
  const { exitCode, error } = await runExplore(['--', ...flaky]);
  expect(exitCode).toBe(4);
  expect(error).toContain('the command differs between runs without any fault');
});

const crashing = ['--crash', '--depth', '1', '--faults', 'crash_before,crash_after'];
const outbox = ['node', clientPath('outbox.mjs')];

test('--crash kills the command at each send and starts it again with its state', async () => {
  const right = await runExplore([...crashing, '--', ...outbox]);
  expect(right.exitCode).toBe(0);
  expect(right.out).toContain('explored 4 of 4 single faults: exhaustive to depth 1');
});

test.each([
  ['row-after-reply', 'CLIENT-5|sent_twice', 'crash_after'],
  ['row-before-reply', 'not_accepted|CLIENT-9', 'crash_before'],
])('--crash finds an outbox that writes its %s', async (bug, cause, fault) => {
  const out = join(folder, bug);
  const argv = [...crashing, '--out', out, '--', ...outbox, bug];
  const { exitCode, out: text } = await runExplore(argv);
  expect(exitCode).toBe(1);
  expect(text).toMatch(new RegExp(`FOUND  (${cause})  ${fault} at send 1, attempt 1`));
});

test('a crash without --crash is refused', async () => {
  const { exitCode, error } = await runExplore(['--faults', 'crash_after', '--', ...outbox]);
  expect({ exitCode, error }).toMatchObject({
    exitCode: 2,
    error: expect.stringContaining(
      'crash_after kills the command and starts it again: add --crash',
    ),
  });
});

test('--throttle-waits says how long a 429 asks to wait', async () => {
  const argv = ['--throttle-waits', '2s', '--depth', '1', '--faults', 'throttle'];
  const { exitCode, out } = await runExplore([...argv, '--', ...outbox, 'none']);
  expect(exitCode).toBe(1);
  expect(out).toContain('before the 429 allowed it (Retry-After: 2)');
});

test('a failure that does not repeat: UNSTABLE, with a hint at --jobs 1', async () => {
  const file = join(folder, 'crashes');
  const crashing = script(
    'crashing',
    `import { appendFileSync, readFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(file)}, 'x');
if (readFileSync(${JSON.stringify(file)}).length === 4) process.exit(3);
const { run } = await import(${JSON.stringify(clientPath('patient.mjs'))});
const { SMSTWIN_BASE_URL: baseUrl, SMSTWIN_API_KEY: apiKey, SMSTWIN_FROM: from } = process.env;
await run({ fetch, baseUrl, apiKey, from }, 'none', 1);`,
  );
  const { exitCode, out } = await runExplore(['--faults', 'throttle', '--', ...crashing]);
  expect(exitCode).toBe(0);
  expect(out).toContain('UNSTABLE  failed  throttle at send 1, attempt 1');
  expect(out).toContain(
    'did not repeat when this schedule was run again; if two runs at one time share a port or a file, use --jobs 1',
  );
  expect(out).toContain('explored 1 of 1 single faults and 1 of 1 pairs: all to depth 2');
});

test('a command that hangs by itself: 4, and its processes end', async () => {
  const { exitCode, error } = await runExplore(['--timeout', '500ms', '--', 'sleep', '600']);
  expect(exitCode).toBe(4);
  expect(error).toContain('does not end without any fault: the command did not end within 0.5 s');
});

test('a command that does not exist: 2', async () => {
  const { exitCode, error } = await runExplore(['--', 'no-such-program-here']);
  expect(exitCode).toBe(2);
  expect(error).toBe(
    'smstwin explore: cannot run no-such-program-here: there is no such program\n',
  );
});

test('an empty command: 2', async () => {
  const { exitCode, error } = await runExplore(['--', '']);
  expect(exitCode).toBe(2);
  expect(error).toBe('smstwin explore: name the command to run: smstwin explore -- npm test\n');
});

test('a report that another program replaced during the run stays: 2, and one line', async () => {
  const report = join(folder, 'replaced.json');
  const flags = [...quick, '--report', `json=${report}`];
  const replacing = script(
    'replacing',
    `import { writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(report)}, 'mine');
process.argv = ['', '', 'none', '1'];
const { run } = await import(${JSON.stringify(clientPath('patient.mjs'))});
const { SMSTWIN_BASE_URL: baseUrl, SMSTWIN_API_KEY: apiKey, SMSTWIN_FROM: from } = process.env;
await run({ fetch, baseUrl, apiKey, from }, 'none', 1);`,
  );
  const { exitCode, out, error } = await runExplore([...flags, '--', ...replacing]);
  expect(exitCode).toBe(2);
  expect(out).toContain('all to depth 1, with throttle waits of ');
  expect(error).toMatch(
    /^smstwin explore: --report json=\S+: cannot be written: not a report of smstwin; move it away, or name another file$/m,
  );
  expect(error).not.toContain('    at ');
  expect(readFileSync(report, 'utf8')).toBe('mine');
});

test('no command: 2', async () => {
  const { exitCode, error } = await runExplore([]);
  expect(exitCode).toBe(2);
  expect(error).toContain('name the command to run: smstwin explore -- npm test');
});

test.each([
  [['--report', 'json=/dev/full'], 'it is a pipe or a device, not a plain file'],
  [['--out', '/dev/null/x'], '--out /dev/null/x: cannot be written (ENOTDIR)'],
  [['--timeout', '9999999999s'], 'expected a duration from 1ms to 24d, such as 10s'],
])('%j: 2, before anything is run', async (flags, line) => {
  const { exitCode, error } = await runExplore([...flags, '--', 'true']);
  expect(exitCode).toBe(2);
  expect(error).toContain(line);
});

test('a bad line in the intents file, under a fault, is a finding', async () => {
  const clumsy = script(
    'clumsy.mjs',
    `import { appendFileSync } from 'node:fs';
const { SMSTWIN_BASE_URL: url, SMSTWIN_INTENTS: intents } = process.env;
const { status } = await fetch(url + '/api/v1/sms/stats/');
if (status !== 401) appendFileSync(intents, 'oops');`,
  );
  const flags = ['--depth', '1', '--faults', 'unavailable', '--out', join(folder, 'clumsy')];
  const { exitCode, out } = await runExplore([...flags, '--', ...clumsy]);
  expect(exitCode).toBe(1);
  expect(out).toContain('the file that SMSTWIN_INTENTS names is wrong: line 1: not a JSON object');
});

test('a schedule whose faults meet no call says so', async () => {
  const file = join(folder, 'far.json');
  writeFileSync(
    file,
    JSON.stringify([{ at: { endpoint: 'send', intent: 9, attempt: 1 }, fault: 'hang' }]),
  );
  const { exitCode, error } = await runExplore(['--schedule', file, '--', ...patient, 'none', '1']);
  expect(exitCode).toBe(0);
  expect(error).toContain('1 fault of the schedule met no call of the client');
});

test('a command that writes megabytes is explored like any other', async () => {
  const loud = ['sh', '-c', `head -c 30000000 /dev/zero; exec ${patient.join(' ')} none 1`];
  const { exitCode, out } = await runExplore([...quick, '--', ...loud]);
  expect(exitCode).toBe(0);
  expect(out).toContain('explored 1 of 1 single faults: all to depth 1');
});

test('what a command leaves running in its group ends with it', async () => {
  const file = join(folder, 'left');
  const forking = `sleep 600 & echo $! >> ${file}; exec ${patient.join(' ')} none 1`;
  const { exitCode } = await runExplore([...quick, '--', 'sh', '-c', forking]);
  expect(exitCode).toBe(0);
  const left = readFileSync(file, 'utf8').trim().split('\n').map(Number);
  // Without faults, twice to measure, and under the fault.
  expect(left).toHaveLength(4);
  for (const pid of left) expect(isRunning(pid), String(pid)).toBe(false);
});

/** A process that has ended and is not collected yet counts as ended. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test('a budget that ends first: 6, and it says how far it got', async () => {
  const { exitCode, out } = await runExplore([
    '--max-runs',
    '5',
    '--faults',
    'throttle,refuse',
    '--jobs',
    '1',
    '--',
    ...patient,
  ]);
  expect(exitCode).toBe(6);
  expect(out).toContain('explored 2 of 4 single faults: the budget of 5 runs ended first');
});

test('an interrupt: 130, with what was found', async () => {
  const out = join(folder, 'interrupted');
  const { exitCode, ...text } = await runExploreProcess(
    ['--out', out, '--jobs', '1', '--', ...patient, 'impatient-with-second-429'],
    (child) => {
      child.stderr?.once('data', () => child.kill('SIGINT'));
    },
  );
  expect(exitCode).toBe(130);
  expect(text.out).toMatch(/explored \d+ of 24 single faults.*: interrupted/);
});

test('an interrupt while a failure is run again: 130, and the failure is shown as not confirmed', async () => {
  const file = join(folder, 'runs');
  const out = join(folder, 'unconfirmed');
  const report = join(folder, 'unconfirmed.json');
  const interrupting = script(
    'interrupting',
    `import { appendFileSync, readFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(file)}, 'x');
if (readFileSync(${JSON.stringify(file)}).length === 4) {
  process.kill(process.ppid, 'SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 60_000));
}
const { run } = await import(${JSON.stringify(clientPath('patient.mjs'))});
const { SMSTWIN_BASE_URL: baseUrl, SMSTWIN_API_KEY: apiKey, SMSTWIN_FROM: from } = process.env;
await run({ fetch, baseUrl, apiKey, from }, 'reset-taken-for-success', 1);`,
  );
  const { exitCode, ...text } = await runExploreProcess([
    '--depth',
    '1',
    '--faults',
    'reset',
    '--jobs',
    '1',
    '--out',
    out,
    '--report',
    `json=${report}`,
    '--',
    ...interrupting,
  ]);
  expect(exitCode).toBe(130);
  expect(text.out).toContain('NOT CONFIRMED  not_accepted  reset at send 1, attempt 1');
  expect(text.out).toContain('explored 1 of 1 single faults: interrupted');
  expect(text.out).toContain('0 findings, 1 not confirmed, 0 unstable');
  const { findings, unconfirmed } = JSON.parse(readFileSync(report, 'utf8'));
  expect(findings).toEqual([]);
  expect(unconfirmed).toMatchObject([{ cause: 'not_accepted' }]);
});

test('a finding is written, replayed by its file, and gone once the client is mended', async () => {
  const out = join(folder, 'found');
  const report = join(folder, 'explored');
  const faulty = [...patient, 'reset-taken-for-success', '1'];
  const found = await runExplore([
    '--depth',
    '1',
    '--faults',
    'refuse,reset',
    '--out',
    out,
    '--report',
    `json=${report}.json`,
    '--report',
    `junit=${report}.xml`,
    '--report',
    `html=${report}.html`,
    '--',
    ...faulty,
  ]);
  expect(found.exitCode).toBe(1);
  expect(found.error).toMatch(
    /^smstwin explore: found not_accepted under reset at send 1, attempt 1: .+$/m,
  );
  expect(found.out).toContain('FOUND  not_accepted  reset at send 1, attempt 1');
  expect(readdirSync(out).sort()).toEqual([
    'finding-1.json',
    'finding-1.test.ts',
    'test_finding_1.py',
  ]);
  const file = join(out, 'finding-1.json');
  const finding = JSON.parse(readFileSync(file, 'utf8'));
  expect(finding).toMatchObject({
    schedule: [{ at: { endpoint: 'send', intent: 1, attempt: 1 }, fault: 'reset' }],
    cause: 'not_accepted',
    command: faulty,
    cwd: relative(out, process.cwd()),
  });
  expect(finding.timeline).toHaveLength(1);
  const json = JSON.parse(readFileSync(`${report}.json`, 'utf8'));
  expect(json).toMatchObject({ exit_code: 1, findings: [{ cause: 'not_accepted' }] });
  expect(readFileSync(`${report}.xml`, 'utf8')).toContain('reset at send 1, attempt 1');
  const html = readFileSync(`${report}.html`, 'utf8');
  expect(html).toContain('reset at send 1, attempt 1');
  expect(html).toContain('(send 1, attempt 1) → closed  ← reset</li>');
  const again = await runExplore(['--schedule', file, '--', ...faulty]);
  expect(again.exitCode).toBe(1);
  const mended = await runExplore(['--schedule', file, '--', ...patient, 'none', '1']);
  expect(mended.exitCode).toBe(0);
  expect(mended.out).toContain('PASSED  reset at send 1, attempt 1\n');
});

test('two workers of a command that send one job at the same moment make no retry', async () => {
  const workers = script(
    'workers',
    `const { SMSTWIN_BASE_URL: url, SMSTWIN_API_KEY: key, SMSTWIN_FROM: from } = process.env;
const authorization = 'Bearer ' + key;
const worker = async () => {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const reply = await fetch(url + '/api/v1/sms/send/', {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from, message: 'Hello', request_id: 'job-1' }),
    });
    if (reply.ok) return;
    await new Promise((f) => setTimeout(f, reply.headers.get('retry-after') * 1_000));
  }
  throw new Error('gave up');
};
// Both have a connection before they send.
const stats = () => fetch(url + '/api/v1/account/stats/', { headers: { authorization } });
for (const reply of await Promise.all([stats(), stats()])) await reply.text();
await Promise.all([worker(), worker()]);`,
  );
  const { exitCode, out } = await runExplore([...quick, '--', ...workers]);
  expect({ exitCode, out }).toMatchObject({
    exitCode: 0,
    out: expect.stringContaining('0 findings'),
  });
});

test('--env sets the variables of a client that has names of its own', async () => {
  const own = script(
    'own',
    `const { run } = await import(${JSON.stringify(clientPath('patient.mjs'))});
const { SMS_URL: baseUrl, SMS_KEY: apiKey, SMS_FROM: from } = process.env;
await run({ fetch, baseUrl, apiKey, from }, 'none', 1);`,
  );
  const { exitCode } = await runExplore([
    ...quick,
    '--env',
    'SMS_URL=base_url',
    '--env',
    'SMS_KEY=api_key',
    '--env',
    'SMS_FROM=from',
    '--',
    ...own,
  ]);
  expect(exitCode).toBe(0);
});
