/** Which address counts: headers about the address are ignored unless the proxy is trusted. */
import { afterEach, expect, test } from 'vitest';
import { kinds } from '#verify/testkit/transport-fixture.ts';
import { Simulator } from '../../simulator.ts';

const open: Simulator[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((simulator) => simulator.close()));
});

/** Statuses of calls without a key under a limit of one a minute for each address. */
async function statuses(
  transport: (typeof kinds)[number],
  trustProxy: boolean,
  headers: readonly Readonly<Record<string, string>>[],
): Promise<number[]> {
  const simulator = new Simulator({ clock: 'manual', trustProxy, limits: { received: 1 } });
  open.push(simulator);
  const { baseUrl } = await simulator.listen({ transport });
  const found: number[] = [];
  for (const each of headers) {
    const reply = await fetch(`${baseUrl}/api/v1/sms/received/`, { headers: each });
    found.push(reply.status);
  }
  return found;
}

const forwarded = (address: string) => ({ 'x-forwarded-for': address });

test.each(kinds)('%s: AUTH-6 without --trust-proxy forwarded headers are ignored', async (kind) => {
  const forged = [
    {},
    forwarded('198.51.100.1'),
    { 'x-real-ip': '198.51.100.2' },
    { forwarded: 'for=198.51.100.3' },
    { 'x-client-ip': '198.51.100.4', 'true-client-ip': '198.51.100.4' },
  ];
  expect(await statuses(kind, false, forged)).toEqual([401, 429, 429, 429, 429]);
});

test.each(kinds)(
  '%s: AUTH-6 with --trust-proxy only the last X-Forwarded-For counts',
  async (kind) => {
    const sent = [
      forwarded('198.51.100.1'),
      forwarded('203.0.113.9, 198.51.100.1'),
      forwarded('198.51.100.1, 198.51.100.2'),
      {},
      { 'x-real-ip': '198.51.100.3' },
    ];
    expect(await statuses(kind, true, sent)).toEqual([401, 429, 401, 401, 429]);
  },
);

test.each(kinds)('%s: AUTH-6 each spelling of an address is the same caller', async (kind) => {
  const first = ['203.0.113.1', '2001:db8::9', '198.51.100.1', 'fe80::1'].map(forwarded);
  const again = [
    '203.0.113.1:40000',
    '"203.0.113.1"',
    '9.9.9.9 , 203.0.113.1:40001',
    '203.000.113.001',
    '2001:DB8::9',
    '[2001:db8:0:0:0:0:0:9]:40000',
    '"[2001:db8::9]"',
    '2001:db8::0.0.0.9',
    '::ffff:198.51.100.1',
    '::FFFF:c633:6401',
    '[::ffff:198.51.100.1]:1',
    'fe80::1%eth0',
  ].map(forwarded);
  const found = await statuses(kind, true, [...first, ...again]);
  expect(found).toEqual([...first.map(() => 401), ...again.map(() => 429)]);
});

test.each(kinds)('%s: AUTH-6 what names no address counts as the peer', async (kind) => {
  const sent = [
    '',
    'unknown',
    '_hidden:40000',
    '203.0.113.1,',
    '1.2.3',
    '2001:db8::1::2',
    ':',
    '[]',
  ].map(forwarded);
  expect(await statuses(kind, true, [{}, ...sent])).toEqual([401, ...sent.map(() => 429)]);
});
