/**
 * Requests that are hidden in the trailers of a chunked body do not reach a shard through HAProxy,
 * whatever HAProxy forwards. Each start counts, as HAProxy did not forward them in each.
 */
import { expect, test } from 'vitest';
import { RawSocket } from '../testkit/processes/raw-socket.ts';
import { bearer, sendPaths } from '../testkit/twin/request.ts';
import { FleetFixture } from './fleet-fixture.ts';

const starts = Number(process.env['SMSTWIN_STARTS'] ?? 3);
const forged = 'X-Forwarded-For: 6.6.6.6\r\n';
/** What comes behind the last chunk. */
const endings = [
  `XXpost ${sendPaths.send}?a: HTTP/1.1\r\nHost: a\r\n${forged}\r\n`,
  `XXPOST ${sendPaths.send} HTTP/1.1\r\nHost: a\r\n${forged}\r\n`,
  `XXpost: ${sendPaths.send} HTTP/1.1\r\nHost: a\r\n${forged}\r\n`,
  `X-Sum: 1\r\nX-Other: 2\r\n${forged}\r\n`,
  `X-Sum: 1\r\n\r\nPOST ${sendPaths.send} HTTP/1.1\r\nHost: a\r\n${forged}\r\n`,
  `\r\n`,
];

test.each(Array.from({ length: starts }, (_, start) => start))(
  'no shard serves a request that a client hid in trailers: start %i',
  async (start) => {
    const flags = start % 2 === 0 ? [] : ['--wide'];
    const fleet = await FleetFixture.start(['--shards', '2', '--clock', 'manual', ...flags]);
    try {
      const key = fleet.served.ready.accounts[0]?.api_key ?? '';
      const port = Number(new URL(fleet.served.baseUrl).port);
      const head = `POST ${sendPaths.send} HTTP/1.1\r\nHost: x\r\nAuthorization: ${bearer(key)}\r\n`;
      for (const ending of endings) {
        for (const cuts of [[], [3], [5]]) {
          const socket = await RawSocket.open(port);
          await socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`);
          await socket.write(`0\r\n${ending}`, cuts);
          const reply = await socket.reply('POST').catch(() => undefined);
          if (ending === '\r\n') expect(reply?.status).toBe(415);
          socket.destroy();
        }
      }
      const { requests } = await fleet.operate<{
        requests: { method: string; endpoint: string }[];
      }>('GET', '/control/requests');
      const seen = new Set(requests.map(({ method, endpoint }) => `${method} ${endpoint}`));
      expect([...seen]).toEqual(['POST send']);
      expect(requests.length).toBeLessThanOrEqual(3 * endings.length);
    } finally {
      await fleet.stop();
    }
  },
  60_000,
);
