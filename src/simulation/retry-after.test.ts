/** `retryAfterSeconds`: which seconds a 429 counts while the clock is scaled. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { replayJournal } from '#cli/replay/replay-journal.ts';
import { plainRequest } from '#verify/testkit/twin/twin.ts';
import type { SettingsInput } from '../config/settings.ts';
import { Simulator, type SimulatorOptions } from '../simulator.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-03-01T10:00:00.000Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

/** One request a minute to `received`, of which the first is spent. */
function throttled(settings: SettingsInput, options: SimulatorOptions = {}) {
  const simulator = new Simulator({ limits: { received: 1 }, ...settings }, options);
  const key = simulator.readyFile().accounts[0]?.api_key;
  const ask = () =>
    simulator.handle({
      ...plainRequest,
      path: '/api/v1/sms/received/',
      authorization: `Bearer ${key}`,
    });
  ask();
  const waitSeconds = () => Number(ask().headers?.['retry-after']);
  return { simulator, ask, waitSeconds };
}

function passRealSeconds(seconds: number): void {
  vi.setSystemTime(Date.now() + seconds * 1_000);
}

test('ERR-3 on a scaled clock Retry-After counts simulated seconds unless asked otherwise', async () => {
  const { simulator, waitSeconds } = throttled({ clock: 'scaled', rate: 20 });
  expect(waitSeconds()).toBe(60);
  await simulator.close();
});

test('ERR-4 in real seconds, header and detail state the same number', async () => {
  const { simulator, ask } = throttled({
    clock: 'scaled',
    rate: 25,
    retryAfterSeconds: 'real',
  });
  const { headers, body } = ask();
  expect(headers?.['retry-after']).toBe('3');
  expect(JSON.parse(body).detail).toContain('3 seconds');
  await simulator.close();
});

test('ERR-3 waiting the stated real seconds is enough, and one second less is not', () => {
  const rates = fc.oneof(
    fc.integer({ min: 1, max: 1_000_000 }),
    fc.double({ min: 0.01, max: 1_000, noNaN: true }),
  );
  fc.assert(
    fc.property(rates, (rate) => {
      const { simulator, ask, waitSeconds } = throttled({
        clock: 'scaled',
        rate,
        retryAfterSeconds: 'real',
      });
      const seconds = waitSeconds();
      passRealSeconds(seconds - 1);
      expect(ask().status).toBe(429);
      passRealSeconds(1);
      expect(ask().status).toBe(200);
      void simulator.close();
    }),
    { numRuns: 200 },
  );
});

test('ERR-3 real seconds follow the clock: its rate, a reset, a restored snapshot', async () => {
  const { simulator, ask, waitSeconds } = throttled({
    clock: 'scaled',
    rate: 30,
    retryAfterSeconds: 'real',
  });
  expect(waitSeconds()).toBe(2);
  simulator.clock.setMode('scaled', 6);
  expect(waitSeconds()).toBe(10);
  simulator.snapshots.restore(simulator.snapshots.take());
  expect(waitSeconds()).toBe(10);
  simulator.clock.setMode('manual');
  expect(waitSeconds()).toBe(60);
  simulator.clock.setMode('real');
  expect(waitSeconds()).toBe(60);
  simulator.reset();
  ask();
  expect(waitSeconds()).toBe(2);
  await simulator.close();
});

test('ERR-3 a run with real seconds is replayed byte for byte', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-retry-after-'));
  const journal = join(folder, 'run.ndjson');
  const { simulator, waitSeconds } = throttled(
    { clock: 'scaled', rate: 30, retryAfterSeconds: 'real' },
    { journal },
  );
  expect(waitSeconds()).toBe(2);
  await simulator.close();
  expect(replayJournal(journal)).toMatchObject({ inputs: 2, differing: 0 });
  rmSync(folder, { recursive: true });
});
