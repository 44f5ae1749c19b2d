/**
 * HAR files that Chromium (by Playwright) and mitmproxy (by its `har_dump.py`) have written of a
 * simulator: they are read without a complaint, and both show what they hold.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { conform } from '#conformance/main.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';

test.each([
  ['chromium.har', 17],
  ['mitmproxy.har', 12],
])('%s is read without a complaint, and passes %i rules', async (name, passed) => {
  const said = { out: '', error: '' };
  const file = fileURLToPath(new URL(`../recorded/${name}`, import.meta.url));
  const code = await conform(['--traffic', file], {
    out: (text) => {
      said.out += text;
    },
    error: (text) => {
      said.error += text;
    },
    env: {},
    readTraffic,
  });
  expect([code, said.error]).toEqual([0, '']);
  expect(said.out).toContain(`${passed} of 43 rules passed`);
});

const folder = mkdtempSync(join(tmpdir(), 'smstwin-har-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The reads of a message, `startMs` in milliseconds after midnight, in a HAR file. */
async function verdictsOf(reads: readonly (readonly [status: string, startMs: number])[]) {
  const id = '0b9f8d53-6d8c-4a43-9a4e-0d3c7f1b2a10';
  const entries = reads.map(([status, startMs]) => ({
    startedDateTime: new Date(Date.UTC(2026, 2, 5) + startMs).toISOString(),
    time: 30,
    connection: '7',
    request: {
      method: 'GET',
      url: `https://sms.example/api/v1/sms/${id}/`,
      headers: [{ name: 'authorization', value: 'Bearer key' }],
    },
    response: {
      status: 200,
      headers: [{ name: 'content-type', value: 'application/json' }],
      content: { text: JSON.stringify({ status, message_id: id }) },
    },
  }));
  const file = join(folder, 'clock.har');
  writeFileSync(file, JSON.stringify({ log: { entries } }));
  const io = { out: () => {}, error: () => {}, env: {}, readTraffic };
  const report = join(folder, 'report.json');
  await conform(['--traffic', file, '--report', `json=${report}`], io);
  const { results } = JSON.parse(readFileSync(report, 'utf8'));
  const failed = results.filter(({ verdict }: { verdict: string }) => verdict === 'failed');
  return failed
    .map(({ id }: { id: string }) => id.replace('/traffic', ''))
    .filter((rule: string) => rule.startsWith('STATE'));
}

const sent = [
  ['queued', 1_000],
  ['sending', 25_000],
] as const;

test.each([
  ['was set back by two hours', [...sent, ['sent', -7_140_000], ['delivered', -7_110_000]], []],
  ['was set back by a second', [...sent, ['sent', 24_900], ['delivered', 60_000]], []],
  ['ran on, so that a status was revisited', [...sent, ['queued', 60_000]], ['STATE-3']],
])('STATE-3 and STATE-5 of a HAR file whose clock %s', async (_, reads, expected) => {
  expect(await verdictsOf(reads as Parameters<typeof verdictsOf>[0])).toEqual(expected);
});
