/**
 * Headers that the service does not read, on each transport and in each world: `traceparent`, which
 * joins a request to a trace of the client, and those that a fault matches. The record keeps both,
 * and so do the journal and HAR, so that a replay decides the same; all others are forgotten.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Simulator } from '#src/simulator.ts';
import { kinds } from '../testkit/transport-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-headers-'));
afterAll(() => rmSync(folder, { recursive: true }));

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const path = '/api/v1/account/stats/';

function seen({ requests }: { readonly requests: ReturnType<Simulator['requests']['list']> }) {
  return requests.map((request) => [request.status, request.traceparent]);
}

test.each([...kinds, 'fetch'] as const)('%s: the record keeps them', async (kind) => {
  const journal = join(folder, `${kind}.ndjson`);
  const simulator = new Simulator({ clock: 'manual' }, { journal });
  simulator.faults.add({
    match: { headers: { 'X-Test': 'checkout' } },
    when: { every: 1 },
    fault: { kind: 'status', status: 418 },
  });
  const hosted = simulator.worlds.create();
  const { baseUrl, controlUrl } = await simulator.listen({
    control: {},
    ...(kind !== 'fetch' && { transport: kind }),
  });
  const ask = kind === 'fetch' ? simulator.fetch : fetch;
  const authorization = `Bearer ${simulator.readyFile().accounts[0]?.api_key}`;
  const askWith = (headers: Record<string, string>) =>
    ask(`${baseUrl}${path}`, { headers: { authorization, 'user-agent': 'an-agent', ...headers } });
  await askWith({ traceparent, 'x-test': 'a checkout "b"' });
  await askWith({ traceparent: 'é', 'x-test': 'another' });
  await askWith({});
  await ask(`${baseUrl}/w/${hosted.world_id}${path}`, { headers: { traceparent } });

  const expected = [
    [200, null],
    [200, null],
    [418, traceparent],
  ];
  expect(seen({ requests: simulator.requests.list() })).toEqual(expected);
  const ofWorld = await fetch(`${controlUrl}/w/${hosted.world_id}/control/requests`);
  expect(seen((await ofWorld.json()) as Parameters<typeof seen>[0])).toEqual([[401, traceparent]]);
  expect(simulator.requests.get(1).request.headers).toMatchObject({ traceparent });
  const { log } = simulator.requests.har();
  const named = log.entries.map(({ request }) =>
    request.headers.flatMap(({ name, value }) => (name === 'x-test' ? [value] : [])),
  );
  expect(named).toEqual([['a checkout "b"'], ['another'], []]);
  await simulator.close();
  const text = readFileSync(journal, 'utf8');
  expect(text.match(/"headers":{"(x-test|traceparent)".*?}/g)).toEqual([
    `"headers":{"x-test":"a checkout \\"b\\"","traceparent":"${traceparent}"}`,
    '"headers":{"x-test":"another"}',
  ]);
  expect(text).not.toContain('an-agent');

  const resumed = new Simulator({ clock: 'manual' }, { journal });
  expect(seen({ requests: resumed.requests.list() })).toEqual(expected);
  await resumed.close();
});
