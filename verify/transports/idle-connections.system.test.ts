/**
 * The real limits: every idle connection ends within 15 s, and not before the time that replies
 * announce.
 */
import { expect, test } from 'vitest';
import { keepAliveSeconds } from '../../src/http/transport/transport.ts';
import { kinds, start } from '../testkit/transport-fixture.ts';
import { idleTimes, ports } from './idle-connections.ts';

test.each(kinds)(
  '%s: idle connections are closed within 15 s, and stay for the time announced',
  async (kind) => {
    // The control port is Node's own server, whatever serves the service.
    const served = kind === 'node' ? Object.values(ports) : [ports.service];
    const both = await Promise.all(
      served.map(async (serve) => idleTimes((await start(kind, serve)).port)),
    );
    for (const [habit, ms] of both.flatMap((times) => Object.entries(times))) {
      expect(ms, habit).toBeLessThan(15_000);
      expect(ms, habit).toBeGreaterThan(keepAliveSeconds * 1_000 + 1_000);
    }
  },
  40_000,
);
