/**
 * The preload `smstwin/clock` in child processes: every clock and every wait of Node runs at the
 * rate, no wait ends early, and a client runs at the speed of a scaled server.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { transformSync } from 'esbuild';
import { afterAll, afterEach, expect, test } from 'vitest';
import { Simulator } from '#src/simulator.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
// As JavaScript: threads are not given what compiles TypeScript.
const folder = mkdtempSync(join(tmpdir(), 'smstwin-clock-'));
const preload = join(folder, 'clock.mjs');
const source = readFileSync(file('../../src/testing/clock.ts'), 'utf8');
writeFileSync(preload, transformSync(source, { loader: 'ts' }).code);
afterAll(() => rmSync(folder, { recursive: true }));

const running: Simulator[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

async function run(rate: string, script: string, ...argv: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', preload, file(script), ...argv],
    { env: { ...process.env, SMSTWIN_RATE: rate } },
  );
  return stdout;
}

const rate = 600;
const minuteMs = 60_000;

test('every wait lasts its time on every clock, and a fraction of it in real time', async () => {
  const startMs = performance.now();
  const { took, ahead, dates } = JSON.parse(await run(String(rate), './waits.mjs'));
  const realMs = performance.now() - startMs;
  expect(Object.keys(took)).toHaveLength(9);
  for (const [wait, clocks] of Object.entries(took)) {
    expect(Object.keys(clocks as object)).toHaveLength(6);
    for (const [clock, ms] of Object.entries(clocks as Record<string, number>))
      expect(ms, `${wait} by ${clock}`).toBeGreaterThanOrEqual(minuteMs - 1);
  }
  expect(realMs).toBeLessThan(9 * minuteMs);
  expect(dates).toEqual([true, true, true, true, true]);
  // A thread goes on from the time of the process; it was asked a moment ago.
  expect(Math.abs(ahead.worker)).toBeLessThan(rate * 1_000);
});

test('ERR-3 a client at the server’s rate waits long enough each time: it gets exactly ten 429s', async () => {
  const simulator = new Simulator({ clock: 'scaled', rate, limits: { send: 1 } });
  running.push(simulator);
  const { baseUrl } = await simulator.listen();
  const key = simulator.readyFile().accounts[0]?.api_key ?? '';
  const startMs = performance.now();
  const statuses = JSON.parse(await run(String(rate), './patient.mjs', baseUrl, key)) as number[];
  expect(statuses.filter((status) => status === 429).length).toBeLessThanOrEqual(10);
  expect(statuses.join(' ')).not.toContain('429 429');
  expect(performance.now() - startMs).toBeLessThan(minuteMs);
});

test.each(['0', '-1', 'fast', 'Infinity', '1000001'])(
  'SMSTWIN_RATE=%s ends with exit code 2 and one line',
  async (text) => {
    await expect(run(text, './waits.mjs')).rejects.toMatchObject({
      code: 2,
      stderr: `SMSTWIN_RATE: expected a number above 0, at most 1000000; got "${text}"\n`,
    });
  },
);
