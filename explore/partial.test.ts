/**
 * Random clients on a simulator. Their journal gives the verdicts that the running simulator gives;
 * after each step, and cut after any line, judged as partial, it breaks no rule that the whole
 * keeps.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { exchangesOfJournalFile } from '#cli/replay/replay-journal.ts';
import type { Delivery } from '#contract/request-and-reply.ts';
import { latestByIntent } from '#judging/client/intents-file.ts';
import { type JudgeOptions, judge, type RefereeReport } from '#judging/client/judge.ts';
import { reportJson } from '#judging/client/report-json.ts';
import { Simulator } from '#src/simulator.ts';
import { runs } from '#verify/testkit/runs.ts';
import { bearer, requestTo } from '#verify/testkit/twin/request.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { recordedBy } from './watched-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-partial-'));
afterAll(() => rmSync(folder, { recursive: true }));

const oneOf = (...values: readonly string[]) => fc.constantFrom(...values);
const oneSend = fc.record({
  send: oneOf('Hi', 'Ho'),
  id: oneOf('', 'a', 'b', 'c'),
  sim: fc.constantFrom(0, 0, 1),
  account: fc.constantFrom(0, 0, 0, 1),
});
const step = fc.oneof(
  { weight: 6, arbitrary: oneSend },
  { weight: 2, arbitrary: fc.record({ read: oneOf('/api/v1/sms/received/', 'last') }) },
  { weight: 3, arbitrary: fc.record({ wait: oneOf('1ms', '900ms', '4s', '15s', '60s', '25h') }) },
  {
    weight: 2,
    // A delay is drawn twice as often.
    arbitrary: fc.record({
      fault: oneOf(
        'status',
        'wait',
        'refuse',
        'lost_response',
        'truncate',
        'malformed',
        'delay',
        'delay',
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ active: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ left: fc.boolean() }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function playedBy(steps: readonly Step[], afterEach: (simulator: Simulator) => void = () => {}) {
  const simulator = new Simulator({ clock: 'manual', limits: { send: 2, received: 1 } });
  const [acme, globex] = simulator.readyFile().accounts;
  const numbers = [acme?.sims[0]?.number, acme?.sims[1]?.number, globex?.sims[0]?.number];
  const underway: Delivery[] = [];
  let last = 'x';
  for (const one of steps) {
    if ('send' in one) {
      const { body, delivery } = sendBy(simulator, one.account, {
        message: one.send,
        from: numbers[one.account === 1 ? 2 : one.sim],
        ...(one.id !== '' && { request_id: one.id }),
      });
      if (delivery !== undefined) underway.push(delivery);
      last = /"message_id":"([^"]+)"/.exec(body)?.[1] ?? last;
    } else if ('read' in one) {
      const path = one.read === 'last' ? `/api/v1/sms/${last}/` : one.read;
      simulator.handle(requestTo(path, { authorization: bearer(acme?.api_key) }));
    } else if ('wait' in one) simulator.clock.advance(one.wait);
    else if ('left' in one) {
      const [delivery] = underway.splice(0, 1);
      if (delivery !== undefined) simulator.replyFinished(delivery, one.left);
    } else if ('active' in one) {
      simulator.sims.patch(acme?.sims[0]?.device_id ?? '', { active: one.active });
    } else addFault(simulator, one.fault);
    afterEach(simulator);
  }
  return simulator;
}

function addFault(simulator: Simulator, kind: string): void {
  const headers = { 'retry-after': new Date(simulator.clock.now() + 20_000).toUTCString() };
  const wait = { kind: 'status', status: 429, headers };
  const given = { status: { status: 503 }, wait, delay: { ms: 3_000 } }[kind] ?? {};
  const fault = { kind, ...given } as Parameters<typeof simulator.faults.add>[0]['fault'];
  simulator.faults.add({ when: { nth: [1] }, times: 1, fault });
}

function judged(journal: string, options: JudgeOptions): RefereeReport {
  const file = join(folder, 'run.ndjson');
  writeFileSync(file, journal);
  return judge(exchangesOfJournalFile(file).exchanges, options);
}

function broken({ rules }: RefereeReport): string[] {
  return rules.filter(({ findings }) => findings.length > 0).map(({ id }) => id);
}

const numRuns = runs(12);

test('the verdicts on a journal are those of the simulator that wrote it', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const simulator = playedBy(steps);
      const live = judge(recordedBy(simulator));
      expect(judged(simulator.journalText(), {})).toEqual(live);
      expect(reportJson(live)).toEqual(simulator.referee());
    }),
    { numRuns },
  );
});

const order = { intent: 'order', to: '+12025550123', from: '+12025550101', message: 'Hi' } as const;
const bothIds = latestByIntent([
  { ...order, request_id: 'a' },
  { ...order, request_id: 'b', reported: 'accepted' },
]);

test.each([
  ['', undefined],
  [' with two ids of one intent', bothIds],
])(
  'a record%s that ends earlier, judged as partial, breaks no rule that the whole keeps',
  (_, reports) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.nat(), (steps, at) => {
        const parts: string[][] = [];
        const simulator = playedBy(steps, (played) => {
          parts.push(broken(judge(recordedBy(played), { isPartial: true, reports })));
        });
        const lines = simulator.journalText().trimEnd().split('\n');
        const cut = lines.slice(0, 1 + (at % lines.length));
        parts.push(broken(judged(`${cut.join('\n')}\n`, { isPartial: true, reports })));
        const whole = broken(judge(recordedBy(simulator), { reports }));
        for (const part of parts) expect(part.filter((id) => !whole.includes(id))).toEqual([]);
      }),
      { numRuns },
    );
  },
);
