/**
 * A whole run against a correct foreign server, with every flag and two minutes for a wait: it ends
 * with exit 0, exercises every selected rule, stays within the announced cost, and prints
 * regularly. `test:all` tries one of the variations, `SMSTWIN_RUNS=8` all of them.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { failures, runConformWithReport } from '../testkit/conform-run.ts';
import { sample } from '../testkit/runs.ts';
import { serveForeign } from './server.ts';
import { variations } from './variation.ts';

/** What a dry run with all flags announces, and a few sends more. */
const announcedSends = 840;

test.concurrent.each(sample(Object.entries(variations), 1))(
  'a whole run without a control port finds a correct foreign server (%s) sound',
  async (_, variation) => {
    const server = await serveForeign(variation);
    try {
      const argv = [server.baseUrl, ...server.flags, '--timeout', '2m', '--profile', 'full'];
      // All runs share this process, so that the floods of one hold up the lines of the others.
      const delay = monitorEventLoopDelay();
      delay.enable();
      let last = Date.now();
      let silenceMs = 0;
      const out = () => {
        silenceMs = Math.max(silenceMs, Date.now() - last);
        last = Date.now();
      };
      const { exitCode, results, sends } = await runConformWithReport(argv, {
        out,
        error: out,
        isTerminal: true,
      });
      expect(failures(results)).toEqual([]);
      // On a busy machine the server may close a kept-alive connection as it is used again.
      const idle = results.filter(
        ({ kind, verdict, reason = '' }) =>
          kind === 'rule' &&
          verdict === 'not_exercised' &&
          !reason.includes('a target that stays up') &&
          !reason.includes('a machine that keeps up') &&
          // Its messages may all fail.
          reason !== 'no delivered message was seen' &&
          // The server may hide whose a number is, and its device need not poll.
          !reason.startsWith('needs '),
      );
      expect(idle).toEqual([]);
      expect([0, 4]).toContain(exitCode);
      expect(sends).toBeLessThanOrEqual(announcedSends);
      expect(silenceMs).toBeLessThanOrEqual(5_000 + delay.max / 1e6);
    } finally {
      await server.close();
    }
  },
  420_000,
);
