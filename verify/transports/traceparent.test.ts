/**
 * The `traceparent` of a request, which joins it to a trace of the client: kept in the record, and
 * so in the log, the journal and HAR, on each transport and in each world, after a replay too.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Simulator } from '#src/simulator.ts';
import { kinds } from '../testkit/transport-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-trace-'));
afterAll(() => rmSync(folder, { recursive: true }));

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const path = '/api/v1/account/stats/';

function kept({ requests }: Pick<Simulator, 'requests'>) {
  return requests.list().map((request) => request.traceparent);
}

test.each([...kinds, 'fetch'] as const)('%s: the record keeps it', async (kind) => {
  const journal = join(folder, `${kind}.ndjson`);
  const simulator = new Simulator({ clock: 'manual' }, { journal });
  const hosted = simulator.worlds.create();
  const { baseUrl } = await simulator.listen(kind === 'fetch' ? {} : { transport: kind });
  const ask = kind === 'fetch' ? simulator.fetch : fetch;
  const authorization = `Bearer ${simulator.readyFile().accounts[0]?.api_key}`;
  await ask(`${baseUrl}${path}`, { headers: { authorization, traceparent } });
  await ask(`${baseUrl}${path}`, { headers: { authorization, traceparent: 'Bearer secret' } });
  await ask(`${baseUrl}${path}`, { headers: { authorization } });
  await ask(`${baseUrl}/w/${hosted.world_id}${path}`, { headers: { traceparent } });

  expect(kept(simulator)).toEqual([null, null, traceparent]);
  expect(simulator.requests.get(1).request.headers).toMatchObject({ traceparent });
  const { log } = simulator.requests.har();
  const named = log.entries.map(({ request }) =>
    request.headers.flatMap(({ name, value }) => (name === 'traceparent' ? [value] : [])),
  );
  expect(named).toEqual([[traceparent], [], []]);
  await simulator.close();
  expect(readFileSync(journal, 'utf8').match(/"traceparent":"[^"]*"/g)).toEqual([
    `"traceparent":"${traceparent}"`,
  ]);

  const resumed = new Simulator({ clock: 'manual' }, { journal });
  expect(kept(resumed)).toEqual([null, null, traceparent]);
  await resumed.close();
});
