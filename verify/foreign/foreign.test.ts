/**
 * A correct server that shares no code with the simulator and differs wherever the document is
 * silent: the harness fails no rule on it. `foreign.system.test.ts` does the whole run, with waits.
 */
import { expect, test } from 'vitest';
import { failures, runConform } from '../testkit/conform-run.ts';
import { sample } from '../testkit/runs.ts';
import { serveForeign } from './server.ts';
import { variations } from './variation.ts';

const patterns = ['SVC-*', 'RES-*', 'STATE-1', 'SEND-*', 'READ-*', 'AUTH-*', 'ERR-1', 'VER-1'];

test.concurrent.each(sample(Object.entries(variations), 1))(
  'a sound foreign server (%s) fails no rule that is checked without waiting',
  async (_, variation) => {
    const server = await serveForeign(variation);
    try {
      const argv = [server.baseUrl, ...patterns, ...server.flags, '--timeout', '10s'];
      const { results } = await runConform(argv);
      expect(failures(results)).toEqual([]);
      expect(results.filter(({ verdict }) => verdict === 'passed').length).toBeGreaterThan(30);
    } finally {
      await server.close();
    }
  },
);
