/**
 * The referee's report on a running simulator. The last report is kept, because pages and tests ask
 * again and again: a record that has not changed since, or is full, is not judged again.
 */

import { type JudgeOptions, judging, type RefereeReport } from '#judging/client/judge.ts';
import type { ExchangeRecord } from '../../recording/exchange-record.ts';
import { readingOf } from '../../recording/judged-exchanges.ts';
import { isUndelivered } from '../../sim/devices/outcomes.ts';
import type { RunningWorld } from '../running-world.ts';

interface KeptReport {
  readonly report: RefereeReport;
  /** The options of the report, as JSON. */
  readonly options: string;
  /** The record's number of changes at that time. */
  readonly changes: number;
}

const keptReports = new WeakMap<ExchangeRecord, KeptReport>();

/** Judges the requests so far, in slices. Requests that arrive meanwhile are left out. */
export function* reportingOn(
  { exchangeRecord, simulation }: RunningWorld,
  options: Pick<JudgeOptions, 'isPartial' | 'isStrict' | 'graceMs' | 'accounts' | 'reports'>,
): Generator<undefined, RefereeReport> {
  const { changes, lack, isCutAtStart } = exchangeRecord;
  const { keyRing, messages } = simulation.world;
  const optionsText = JSON.stringify(options);
  const last = keptReports.get(exchangeRecord);
  if (last?.changes === changes && last.options === optionsText) return last.report;
  const report = yield* judging(yield* readingOf(exchangeRecord, keyRing.texts), {
    ...options,
    lack,
    isCutAtStart,
    endsUndelivered: (id) => isUndelivered(messages.get(id)),
  });
  // A client's own reports are judged by what became of its messages, which may still change.
  if (options.reports === undefined) {
    keptReports.set(exchangeRecord, { report, options: optionsText, changes });
  }
  return report;
}
