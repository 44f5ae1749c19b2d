/**
 * The referee's report on a running simulator. The last one is kept: pages and tests ask again and
 * again, and a record that is full, or to which nothing came, is not judged once more.
 */
import type { ExchangeRecord } from '../recording/exchange-record.ts';
import { type JudgeOptions, judging, type RefereeReport } from '../referee/judge.ts';
import { readingOf } from '../referee/recorded-feed.ts';
import { isUndelivered } from '../sim/outcomes.ts';
import type { Live } from './live.ts';

interface Kept {
  readonly report: RefereeReport;
  readonly asked: string;
  readonly changes: number;
}

const kept = new WeakMap<ExchangeRecord, Kept>();

/** Judges what came so far, in slices. What comes meanwhile is left out. */
export function* reportingOn(
  { exchangeRecord, simulation }: Live,
  options: Pick<JudgeOptions, 'isPartial' | 'isStrict' | 'graceMs' | 'accounts' | 'reports'>,
): Generator<undefined, RefereeReport> {
  const { changes, lack, isCutAtStart } = exchangeRecord;
  const { keyRing, messages } = simulation.world;
  const asked = JSON.stringify(options);
  const last = kept.get(exchangeRecord);
  if (last?.changes === changes && last.asked === asked) return last.report;
  const report = yield* judging(yield* readingOf(exchangeRecord, keyRing.texts), {
    ...options,
    lack,
    isCutAtStart,
    endsUndelivered: (id) => isUndelivered(messages.get(id)),
  });
  // A client's own reports are judged by what became of its messages, which may still change.
  if (options.reports === undefined) kept.set(exchangeRecord, { report, asked, changes });
  return report;
}
