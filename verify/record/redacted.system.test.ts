/**
 * Redaction changes no verdict: a run of the harness, recorded with redaction and without, is
 * judged alike as the traffic of a service and as that of a client.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TrafficExchange } from '#contract/exchange.ts';
import { atOnce } from '#io/event-loop.ts';
import { judge as judgeClient } from '#judging/client/judge.ts';
import { exchangesOfTraffic } from '#judging/evidence/exchanges-of-traffic.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import { LineMaker } from '#record/line-maker.ts';
import { type Redaction, redactions } from '#record/redaction.ts';
import { variations } from '../foreign/variation.ts';
import { sample } from '../testkit/runs.ts';
import { judge } from '../traffic/judge.ts';
import { type RecordedRun, recordForeign, recordSimulator } from '../traffic/recorded-run.ts';

/** The lines that the recorder makes of the exchanges. */
function recorded(exchanges: readonly TrafficExchange[], maker: LineMaker): string {
  return exchanges
    .map(({ sentAt, answeredAt, method, path, query, headers, body, reply }) => {
      const line = maker.make({
        sentMs: sentAt,
        steadyMs: [sentAt, answeredAt],
        connection: 1,
        clientIp: '127.0.0.1',
        method,
        target: query === '' ? path : `${path}?${query}`,
        requestHeaders: Object.entries(headers),
        requestBody: Buffer.from(body ?? ''),
        reply: reply && {
          status: reply.status,
          headers: Object.entries(reply.headers),
          body: Buffer.from(reply.body ?? ''),
        },
        failure: undefined,
        fault: undefined,
      });
      return `${JSON.stringify(atOnce(line))}\n`;
    })
    .join('');
}

async function verdictsOf(run: RecordedRun, what: readonly Redaction[]) {
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-redacted-'));
  const file = join(folder, 'recording.ndjson');
  const maker = new LineMaker('0'.repeat(64), what);
  await writeFile(file, recorded(run.exchanges, maker));
  const read: TrafficExchange[] = [];
  for await (const events of readTraffic([file], () => {}))
    read.push(...events.filter((event) => event !== 'cut'));
  await rm(folder, { recursive: true });
  const joined = run.joined.map((keys) => keys.map((key) => maker.secrets.digest('key', key)));
  const { failed, passed } = judge(read, { isComplete: true, joined });
  const { rules } = judgeClient(exchangesOfTraffic(read).exchanges);
  return { failed, passed, rules: rules.map(({ id, verdict }) => [id, verdict]) };
}

/** Rules of every kind of group; floods and the other rules of sends would make it slow. */
const rules = ['SEND-4', 'RES', 'READ-1', 'READ-2', 'AUTH-1', 'AUTH-3', 'STATE'];

const fewRules = ['SEND', 'RES', 'READ-1'];

/** A wrong one comes first: it has verdicts of both kinds. */
const services: readonly (readonly [string, () => Promise<RecordedRun>])[] = [
  ...['replay-other-spacing', 'replay-per-text'].map(
    (name) => [`a service that is wrong: ${name}`, () => recordSimulator(rules, {}, name)] as const,
  ),
  ['a sound service', () => recordSimulator(rules)],
  ['a service in other words', () => recordForeign(variations['odd'] ?? expect.fail(), fewRules)],
];

// `SMSTWIN_RUNS=4` records all of them.
test.each(sample(services, 1))(
  '%s is judged by redacted traffic as by plain traffic',
  { timeout: 300_000 },
  async (_, record) => {
    const run = await record();
    const plain = await verdictsOf(run, []);
    expect(plain.passed.length).toBeGreaterThan(10);
    expect(await verdictsOf(run, redactions)).toEqual(plain);
  },
);
