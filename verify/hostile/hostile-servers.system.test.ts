/**
 * `conform` and `bench` against servers that answer as no service does: each ends in time and in
 * bounded memory, with a verdict or one line. `npm run test:all` tries the first two servers,
 * SMSTWIN_RUNS=30 all of them.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loader, program } from '../testkit/processes/program.ts';
import { runs } from '../testkit/runs.ts';
import { hostileServers, serveHostile } from './hostile-servers.ts';

const caller = ['--api-key', 'smst_k', '--from', '+12025550101', '--to', '+12025550123'];
const shortLoad = ['--duration', '200ms', '--rounds', '1', '--warm-up', '10', '--connections', '8'];
/** The first servers answer enough to be judged. */
const answering = 3;
const mostMs = 60_000;
const mostResidentKb = 500 * 1_024;
/** Before the load, bench asks once whether the server answers, and sends what it will read. */
const repliesBeforeLoad = 201;

const names = Object.keys(hostileServers);
test.for(names.slice(0, runs(2)))('%s', { timeout: 2 * mostMs }, async (name) => {
  const answer = hostileServers[name] ?? (() => {});
  const [judged, loaded] = [
    await serveHostile(answer),
    await serveHostile(answer, repliesBeforeLoad),
  ];
  const ends = await Promise.all([
    run('conform', judged.baseUrl, ...caller, '--timeout', '1s', '--reply-timeout', '300ms'),
    run('bench', loaded.baseUrl, ...caller, '--scenario', 'read', ...shortLoad),
    run('bench', judged.baseUrl, ...caller, '--scenario', 'read', ...shortLoad),
  ]);
  judged.close();
  loaded.close();
  const [{ exitCode: verdict, printed: cases }] = ends;
  // An `error` would mean that a reply broke the harness, not a rule.
  expect(cases).not.toMatch(/^ *\d+\/\d+ +error /m);
  if (cases !== '') expect(cases).toMatch(/^\d+ of \d+ rules passed\. Cases: \d+ failed/m);
  if (names.indexOf(name) < answering) expect(verdict, cases).toBe(1);
  for (const { exitCode, printed, errors, residentKb } of ends) {
    const output = `${printed}\n${errors}`;
    expect([0, 1, 2, 3, 8], output).toContain(exitCode);
    expect(output).not.toMatch(/^\s+at |Error:/m);
    // Without a verdict there is a reason, in one line.
    if (printed === '') expect(errors.trim().split('\n'), output).toHaveLength(1);
    expect(residentKb, output).toBeLessThan(mostResidentKb);
    expect(residentKb).toBeGreaterThan(0);
  }
});

interface End {
  /** Null if it did not end in time. */
  readonly exitCode: number | null;
  readonly printed: string;
  readonly errors: string;
  readonly residentKb: number;
}

async function run(...argv: readonly string[]): Promise<End> {
  const child = spawn(process.execPath, [...loader, program, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: mostMs,
    killSignal: 'SIGKILL',
  });
  let printed = '';
  let errors = '';
  let residentKb = 0;
  child.stdout.on('data', (text: Buffer) => {
    printed += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    errors += text.toString();
  });
  const timer = setInterval(() => {
    residentKb = Math.max(residentKb, mostResident(child.pid));
  }, 20);
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(timer);
  return { exitCode, printed, errors, residentKb };
}

/** The most memory that the process has had so far; 0 once it has ended. */
function mostResident(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
