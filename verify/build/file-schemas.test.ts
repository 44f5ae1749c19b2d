/**
 * The shipped JSON Schemas equal the declarations, and fit what smstwin writes, now and in earlier
 * versions; `npx vitest run verify/build/file-schemas.test.ts -u` writes them.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { audit } from '#audit/audit.ts';
import { reportJson } from '#audit/report/report.ts';
import { writeReadyFile } from '#cli/serve/ready-file.ts';
import { Simulator } from '#src/simulator.ts';
import { fixedWindow, LimitedServer, perKey } from '../audit/limiters.ts';
import { root } from '../testkit/doc-commands.ts';
import { expectFits } from '../testkit/expect-fits.ts';
import { postTo, requestTo } from '../testkit/twin/request.ts';
import { sendBy, Twin } from '../testkit/twin/twin.ts';
import { jsonSchema, schemaFiles } from './file-schemas.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-schemas-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each(schemaFiles)('%s is that of the declarations', async (file) => {
  await expect(jsonSchema(file)).toMatchFileSnapshot(join(root, file));
});

function linesOf(path: string): unknown[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as unknown);
}

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

test('a journal fits, whatever a run did', async () => {
  const journal = join(folder, 'run.ndjson');
  const world = { accounts: [{ name: 'acme', keys: [{ name: 'k', key: 'an-explicit-key' }] }] };
  const simulator = new Simulator({ clock: 'manual', world }, { journal });
  simulator.accounts.create({ name: 'hooli', monthly_quota: 5 });
  simulator.faults.add({ when: { nth: [1] }, fault: { kind: 'delay', ms: 5 } });
  simulator.faults.add({ when: { nth: [2] }, fault: { kind: 'lost_response' } });
  simulator.faults.add({ when: { nth: [3] }, fault: { kind: 'status', status: 418, body: 'x' } });
  for (let n = 0; n < 3; n++) simulator.handle(postTo('/api/v1/sms/send/', {}));
  simulator.handle(requestTo('/api/v1/sms/send/', { query: 'a=1', forwardedFor: '1.2.3.4' }));
  const body = Buffer.from([0xff]);
  const odd = { method: 'POST', body, contentEncoding: 'gzip', authorization: 'Basic x' };
  simulator.handle(requestTo('/nowhere/', { ...odd, headers: { traceparent } }));
  sendBy(simulator, 0, { message: 'Hello' });
  simulator.clock.advance('1m');
  await simulator.close();
  const lines = linesOf(journal);
  expect(lines).toHaveLength(12);
  expectFits('schemas/journal.schema.json', lines);
});

test.each([
  'verify/recorded/journal-1.ndjson',
  'verify/recorded/journal-2.ndjson',
  'verify/kept/1.0/journal.ndjson',
])('%s, of an earlier version, fits', (path) => {
  expectFits('schemas/journal.schema.json', linesOf(join(root, path)));
});

test('a ready file fits, with a certificate or without a control port too', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  await simulator.listen({ control: {} });
  const ready = simulator.readyFile();
  await simulator.close();
  expect(ready.control_url).toMatch(/^http:/);
  const all = [ready, { ...ready, tls_ca_file: 'ca.pem' }, { ...ready, control_url: null }];
  const path = join(folder, 'ready.json');
  const written = all.map((each) => {
    writeReadyFile(path, each);
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  });
  expectFits('schemas/ready-file.schema.json', written);
});

test('a report of the referee fits, with its details', () => {
  const { simulator } = new Twin({ limits: { send: 1 } });
  for (let n = 0; n < 4; n++) sendBy(simulator, 0, { message: `Hello ${n % 2}` });
  const report = simulator.referee({ details: true });
  expect(report.rules.some(({ findings }) => findings.length > 0)).toBe(true);
  expectFits('schemas/referee.schema.json', [report]);
});

test('a report of an audit fits', async () => {
  const bench = new LimitedServer(perKey(fixedWindow(5, 2_000)));
  const result = await audit({ request: bench.request, ...bench.clock });
  const report = reportJson({ url: 'http://127.0.0.1/', result, differences: [] });
  expectFits('schemas/audit.schema.json', [
    JSON.parse(report),
    { ...JSON.parse(report), stopped: 'budget' },
  ]);
});

test('the intents files of the pages fit', () => {
  const lines = readFileSync(join(root, 'docs/referee.md'), 'utf8').match(/^\{ ?"intent".*\}$/gm);
  expectFits(
    'schemas/intents.schema.json',
    (lines ?? []).map((line) => JSON.parse(line) as unknown),
  );
});
