/**
 * Redaction changes no verdict: the mixed load, recorded with redaction and without, is judged
 * alike as the traffic of a service and as that of a client.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TrafficExchange } from '#contract/exchange.ts';
import { atOnce } from '#io/at-once.ts';
import { judge as judgeClient } from '#judging/client/judge.ts';
import { exchangesOfTraffic } from '#judging/evidence/exchanges-of-traffic.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import { LineMaker } from '#record/line-maker.ts';
import { type Redaction, redactions } from '#record/redaction.ts';
import { Rng } from '#src/sim/random.ts';
import { wrongSimulation } from '../defects/catalogue.ts';
import { variations } from '../foreign/variation.ts';
import { sample } from '../testkit/runs.ts';
import { joinedIn, judge } from '../traffic/judge.ts';
import { drive } from '../traffic/load.ts';
import { foreignTarget, type LoadTarget, simulatedTarget } from '../traffic/load-target.ts';

/** The lines that the recorder makes of the exchanges. */
function recorded(exchanges: readonly TrafficExchange[], maker: LineMaker): string {
  return exchanges
    .map(({ sentAt, answeredAt, method, path, query, headers, body, reply }) => {
      const line = maker.line({
        ...{ sentMs: sentAt, answeredMs: answeredAt, clientIp: '127.0.0.1', method },
        target: query === '' ? path : `${path}?${query}`,
        requestHeaders: Object.entries(headers),
        requestBody: Buffer.from(body ?? ''),
        reply: reply && {
          status: reply.status,
          headers: Object.entries(reply.headers),
          body: Buffer.from(reply.body ?? ''),
        },
        ...{ failure: undefined, fault: undefined },
      });
      return `${JSON.stringify(atOnce(line))}\n`;
    })
    .join('');
}

async function verdictsOf(
  exchanges: readonly TrafficExchange[],
  target: LoadTarget,
  what: readonly Redaction[],
) {
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-redacted-'));
  const file = join(folder, 'recording.ndjson');
  const maker = new LineMaker('0'.repeat(64), what);
  await writeFile(file, recorded(exchanges, maker));
  const read: TrafficExchange[] = [];
  for await (const event of readTraffic([file], () => {})) if (event !== 'cut') read.push(event);
  await rm(folder, { recursive: true });
  const joined = joinedIn(target).map((keys) =>
    keys.map((key) => maker.secrets.digest('key', key)),
  );
  const { failed, passed } = judge(read, { isComplete: true, joined });
  const { rules } = judgeClient(exchangesOfTraffic(read));
  return { failed, passed, rules: rules.map(({ id, verdict }) => [id, verdict]) };
}

const targets: readonly (readonly [string, () => LoadTarget | Promise<LoadTarget>])[] = [
  ['a sound service', () => simulatedTarget()],
  ['a service in other words', () => foreignTarget(variations['odd'] ?? expect.fail())],
  ...['replay-other-spacing', 'replay-per-text'].map(
    (name) =>
      [
        `a service that is wrong: ${name}`,
        () => simulatedTarget({}, wrongSimulation(name)),
      ] as const,
  ),
];

test.each(sample(targets, 2))(
  '%s is judged by redacted traffic as by plain traffic',
  async (_, open) => {
    const target = await open();
    const exchanges = drive(target, Rng.stream(1, 'load'));
    await target.close?.();
    const plain = await verdictsOf(exchanges, target, []);
    expect(plain.passed.length).toBeGreaterThan(10);
    expect(await verdictsOf(exchanges, target, redactions)).toEqual(plain);
  },
);
