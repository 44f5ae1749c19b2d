/**
 * A wide world behind a proxy: all spellings of an address are counted in one place, and with the
 * documented limit.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FleetFixture } from './fleet-fixture.ts';

let fleet: FleetFixture;

beforeAll(async () => {
  fleet = await FleetFixture.start([
    '--shards',
    '3',
    '--wide',
    '--trust-proxy',
    '--clock',
    'manual',
  ]);
});
afterAll(() => fleet.stop());

test.each([
  ['IPv4', (n: number) => `198.51.100.9, 203.0.113.1:${40_000 + n}`],
  ['IPv6', (n: number) => ['2001:db8::9', '2001:DB8:0::9', `[2001:db8::9]:${n}`][n % 3] ?? ''],
  ['no address', (n: number) => `unknown:${n}`],
])('AUTH-6 130 calls without a key from one address: %s', async (_, spelling) => {
  const statuses: number[] = [];
  for (let n = 0; n < 130; n++) {
    const headers = { 'x-forwarded-for': spelling(n) };
    statuses.push((await fleet.get('/api/v1/sms/received/', undefined, headers)).status);
  }
  expect(statuses).toEqual([...Array(120).fill(401), ...Array(10).fill(429)]);
});
