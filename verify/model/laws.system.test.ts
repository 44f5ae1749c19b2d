/**
 * Properties of the simulator that hold in every random run.
 * Rules: SEND-1, SEND-4, READ-1, STATE-3, STATE-5, AUTH-6.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { statusOfOtherBody } from '#contract/refusals.ts';
import { dayMs } from '#contract/time.ts';
import { runs } from '../testkit/runs.ts';
import { playStep, type Step } from '../testkit/steps/steps.ts';
import type { ComparedRun, Setup } from '../testkit/twin/compared-run.ts';
import { digestOf } from './digest.ts';
import { historiesOf, play, repliesOf, setupArbitrary, stepsArbitrary } from './random-runs.ts';

const parameters = { numRuns: runs(4) };

function withAssumptions(setup: Setup, assumptions: Setup['assumptions']): Setup {
  return { ...setup, assumptions: { ...setup.assumptions, ...assumptions } };
}

/** The steps without those that switch the named assumptions. */
function neverSwitching(steps: readonly Step[], names: readonly string[]): readonly Step[] {
  return steps.filter((step) => step.kind !== 'assume' || !names.includes(step.name));
}

test('an advance in several pieces equals one advance', () => {
  fc.assert(
    fc.property(
      setupArbitrary,
      stepsArbitrary,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 5 }),
      (setup, steps, shares) => {
        const whole = play(setup, steps);
        const inPieces = play(setup, steps, {
          before: (run) => {
            run.stopsBetween = (fromMs, toMs) =>
              shares
                .map((share) => Math.floor(fromMs + share * (toMs - fromMs)))
                .sort((a, b) => a - b);
          },
        });
        expect(repliesOf(inPieces)).toEqual(repliesOf(whole));
        expect(historiesOf(inPieces)).toEqual(historiesOf(whole));
      },
    ),
    parameters,
  );
});

test('a later start only shifts the times of a run', () => {
  const dated = (step: Step) =>
    (step.kind === 'send' && step.fields.sendAt !== undefined && 'value' in step.fields.sendAt) ||
    (step.kind === 'advance_to' && (step.what === 'month' || step.what === 'minute'));
  fc.assert(
    fc.property(
      setupArbitrary,
      stepsArbitrary,
      fc.integer({ min: 1, max: 5_000_000 }),
      (anySetup, anySteps, minutes) => {
        // Months differ in length; everything else shifts with the start.
        const setup = withAssumptions(anySetup, { quotaMonth: 'rolling_30_days' });
        const steps = neverSwitching(anySteps, ['quotaMonth']).filter((step) => !dated(step));
        const later = { ...setup, startMs: setup.startMs + minutes * 60_000 };
        const [first, second] = [play(setup, steps), play(later, steps)];
        expect(relativeTo(later.startMs, repliesOf(second))).toEqual(
          relativeTo(setup.startMs, repliesOf(first)),
        );
        expect(relativeTo(later.startMs, historiesOf(second))).toEqual(
          relativeTo(setup.startMs, historiesOf(first)),
        );
      },
    ),
    parameters,
  );
});

function relativeTo(startMs: number, lines: readonly string[]): string[] {
  return lines.map((line) =>
    line
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => `+${Date.parse(time) - startMs}`)
      .replaceAll(/"atMs":(\d+)/g, (_, ms) => `"atMs":+${Number(ms) - startMs}`),
  );
}

test('AUTH-6 other accounts never change the replies to an account', () => {
  fc.assert(
    fc.property(setupArbitrary, stepsArbitrary, (anySetup, anySteps) => {
      // Accounts share only the pool, where `sendsPerPoll` makes them wait for each other.
      const setup = withAssumptions(anySetup, { sendsPerPoll: 'all' });
      const steps = neverSwitching(anySteps, ['sendsPerPoll']).map((step) =>
        step.kind === 'advance_to' ? { ...step, who: 0 } : step,
      );
      const isAnothers = (step: Step) => 'who' in step && (step.who === 1 || step.who === 2);
      const together = play(setup, steps);
      const alone = play(
        setup,
        steps.filter((step) => !isAnothers(step)),
      );
      expect(repliesTo(0, alone)).toEqual(repliesTo(0, together));
    }),
    parameters,
  );
});

function repliesTo(who: number, run: ComparedRun): string[] {
  return repliesOf(run).filter((_, i) => run.trace[i]?.who === who);
}

/** Plays runs twice, the second time with extra requests between the steps. */
function expectUnchangedBy(
  between: (run: ComparedRun, index: number) => void,
  prepare: (setup: Setup, steps: readonly Step[]) => [Setup, readonly Step[]],
): void {
  const limits = { send: null, dashboard_send: null, external_send: null, received: null };
  fc.assert(
    fc.property(
      setupArbitrary,
      stepsArbitrary,
      fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 5 }),
      (anySetup, anySteps, indices) => {
        const [setup, prepared] = prepare(anySetup, anySteps);
        const noLimits = Object.keys(limits).map((endpoint) => {
          return { kind: 'limit', endpoint: endpoint as keyof typeof limits, limit: null } as const;
        });
        const steps = [...noLimits, ...prepared.filter(({ kind }) => kind !== 'limit')];
        const plain = play(setup, steps);
        const added = new Set<unknown>();
        const busy = play(setup, steps, {
          afterEach: (run) => {
            const before = run.trace.length;
            between(run, indices[run.step % indices.length] ?? 0);
            for (const line of run.trace.slice(before)) added.add(line);
          },
        });
        const kept = repliesOf(busy).filter((_, i) => !added.has(busy.trace[i]));
        expect(kept).toEqual(repliesOf(plain));
        expect(historiesOf(busy)).toEqual(historiesOf(plain));
      },
    ),
    parameters,
  );
}

test('SEND-4 a replay changes only the rest of the limit', () => {
  expectUnchangedBy(
    (run, index) => {
      const valid = new Set(run.model.keys.filter((key) => !key.revoked).map(({ key }) => key));
      const accepted = run.trace.filter(
        ({ request, reply, atMs }) =>
          reply.status === 202 &&
          JSON.parse(reply.body).request_id !== '' &&
          run.model.nowMs - atMs <= dayMs &&
          valid.has(request.authorization?.slice('Bearer '.length) ?? ''),
      );
      const first = accepted[index % accepted.length];
      if (first === undefined) return;
      const again = run.exchange(first.who, first.request);
      expect(Object.values(statusOfOtherBody)).toContain(again.status);
      if (again.status === 200) expect(again.body).toBe(first.reply.body);
    },
    (setup, steps) => [
      withAssumptions(setup, { gateOrder: 'replay_first', contentType: 'ignore' }),
      neverSwitching(steps, ['gateOrder', 'contentType']),
    ],
  );
});

test('READ-1 reading changes nothing', () => {
  expectUnchangedBy(
    (run, index) => {
      const [who, whose] = [index % 3, (index >> 1) % 3];
      playStep(run, { kind: 'read', who, key: 0, whose, message: index, method: 'GET' });
    },
    (setup, steps) => [setup, steps],
  );
});

test('READ-1 listing and counting changes nothing', () => {
  expectUnchangedBy(
    (run, index) => {
      const who = index % 3;
      playStep(run, { kind: 'stats', who, key: 0 });
      playStep(run, { kind: 'received', who, key: 0, query: 'page_size=1' });
    },
    (setup, steps) => [setup, steps],
  );
});

test('SEND-1 `from_number` equals `from`', () => {
  const named = (steps: readonly Step[], senderFields: 'from' | 'from_number') =>
    steps.map((step): Step => {
      const isBoth = step.kind === 'send' && ['both', 'neither'].includes(step.fields.senderFields);
      return step.kind === 'send' && !isBoth
        ? { ...step, fields: { ...step.fields, senderFields } }
        : step;
    });
  // A refusal names the sender field that the caller used.
  const asFrom = (run: ComparedRun) =>
    repliesOf(run).map((line) =>
      line.startsWith('[400') ? line.replaceAll(/(\\"| )from_number(?=\\"|:)/g, '$1from') : line,
    );
  fc.assert(
    fc.property(setupArbitrary, stepsArbitrary, (setup, steps) => {
      const [a, b] = [play(setup, named(steps, 'from')), play(setup, named(steps, 'from_number'))];
      expect(asFrom(b)).toEqual(asFrom(a));
      expect(historiesOf(b)).toEqual(historiesOf(a));
    }),
    parameters,
  );
});

test('STATE-3 STATE-5 a status only follows the table, and no history is rewritten', () => {
  const follows: Readonly<Record<string, readonly string[]>> = {
    queued: ['sending', 'failed'],
    sending: ['sent', 'failed'],
    sent: ['delivered', 'failed'],
    delivered: [],
    failed: [],
  };
  fc.assert(
    fc.property(setupArbitrary, stepsArbitrary, (setup, steps) => {
      const seen = new Map<string, string>();
      play(setup, steps, {
        afterEach: (run) => {
          for (const { messageId } of run.model.messages) {
            const history = run.historyOf(messageId);
            if (history === undefined) continue;
            const text = history.map(({ status, atMs }) => `${status}@${atMs}`).join(' ');
            expect(text.startsWith(seen.get(messageId) ?? 'queued@')).toBe(true);
            seen.set(messageId, text);
            for (const [i, { status, atMs }] of history.entries()) {
              const before = history[i - 1];
              if (before === undefined) continue;
              expect(follows[before.status]).toContain(status);
              expect(atMs).toBeGreaterThanOrEqual(before.atMs);
            }
          }
        },
      });
    }),
    parameters,
  );
});

test('the same seed and inputs give the same bytes', () => {
  const [seed, count] = [20_260_115, 15];
  const digest = digestOf(seed, count);
  expect(digestOf(seed, count)).toBe(digest);
  expect(digestOf(seed + 1, 1)).not.toBe(digestOf(seed, 1));
});
