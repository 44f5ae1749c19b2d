import { expect, test } from 'vitest';
import { createSimulator } from '../src/simulator.ts';
import { newIo } from './io-fixture.ts';
import { bench } from './main.ts';

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
