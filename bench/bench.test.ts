import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSimulator } from '../src/simulator.ts';
import { bench } from './main.ts';
import type { BenchResult } from './report/result.ts';

function newIo() {
  const texts = { out: '', error: '' };
  const io = {
    out: (text: string) => {
      texts.out += text;
    },
    error: (text: string) => {
      texts.error += text;
    },
    env: {},
    version: 'test',
  };
  return { io, texts };
}

test.each([
  [['--scenario', 'sends'], 'Known are send, read'],
  [['--slo', 'p99'], 'Expected a threshold'],
  [['--report', 'pdf=x'], 'Expected json=FILE or html=FILE'],
  [['--duration', '10'], 'Expected a time'],
  [['--api-key', 'k'], '--api-key needs a base_url'],
  [['http://192.0.2.1/', '--api-key', 'k', '--from', '+1'], 'is not this machine'],
  [['http://127.0.0.1:1'], 'needs --api-key and --from, or --control-url'],
])('%j is refused', async (argv, why) => {
  await expect(bench(argv, newIo().io)).rejects.toThrow(why);
});

test('a case is measured beside its floors, reported, and held against its thresholds', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  const json = join(directory, 'r.json');
  const html = join(directory, 'r.html');
  const { io, texts } = newIo();
  const flags = ['--scenario', 'throttled', '--duration', '200ms', '--rounds', '1'];
  const few = ['--warm-up', '200'];
  const thresholds = ['--slo', 'errors<1', '--slo', 'rps<1'];
  const reports = ['--report', `json=${json}`, '--report', `html=${html}`];
  expect(await bench([...flags, ...few, ...thresholds, ...reports], io)).toBe(7);
  const result = JSON.parse(readFileSync(json, 'utf8')) as BenchResult;
  const [found] = result.cases;
  expect(found?.invalid).toEqual([]);
  expect(found?.cpu_ratio).toBeGreaterThan(0);
  expect(Object.keys(found?.servers.service.statuses ?? {})).toContain('429');
  expect(found?.slos).toEqual([
    { slo: 'errors<1', met: true },
    { slo: 'rps<1', met: false },
  ]);
  expect(readFileSync(html, 'utf8')).not.toMatch(/(src|href)=/);
  expect(texts.out).toContain('CPU per request:');
  expect(texts.error).toContain('throttled: service, round 1 of 1');
}, 60_000);

test.each([
  [{}, 0, 'every bound was met'],
  [{ send: 121 }, 7, 'OVER-ADMISSION'],
  [{ send: 119 }, 7, 'UNDER-ADMISSION'],
])(
  'a simulator that runs already with limits %j is audited over its control port',
  async (limits, code, text) => {
    const simulator = await createSimulator({ limits });
    try {
      const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
      const { io, texts } = newIo();
      const flags = ['--scenario', 'limit-audit', '--duration', '500ms'];
      expect(await bench([baseUrl, '--control-url', controlUrl ?? '', ...flags], io)).toBe(code);
      expect(texts.out).toContain(text);
      expect(simulator.accounts.list()).toHaveLength(3);
    } finally {
      await simulator.close();
    }
  },
  30_000,
);
