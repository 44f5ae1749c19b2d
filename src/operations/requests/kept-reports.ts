/**
 * The referee's reports on the requests so far. Pages and tests ask again and again, so the last
 * reports are kept: until the record changes, or longer for a caller that accepts a recent report.
 */
import { type JudgeOptions, judging, type RefereeReport } from '#judging/client/judge.ts';
import type { reportJson } from '#judging/client/report-json.ts';
import { exchangesInSlices } from '../../recording/judged-exchanges.ts';
import type { RecordedExchange } from '../../recording/recorded-exchange.ts';
import { isUndelivered } from '../../sim/devices/outcomes.ts';
import type { RunningWorld } from '../running-world.ts';

type Options = Pick<JudgeOptions, 'isPartial' | 'isStrict' | 'graceMs' | 'accounts' | 'reports'>;

interface KeptReport {
  readonly report: RefereeReport;
  /** The report as JSON, once a caller has asked for it. */
  json?: ReturnType<typeof reportJson>;
  /** The options of the report, as JSON. */
  readonly options: string;
  /** The record's number of changes when the report was made. */
  readonly changes: number;
  /** When it was made, by the monotonic clock. */
  readonly madeMs: number;
  /** The record's number of changes that the last caller found, and when it was found first. */
  noticed: { readonly changes: number; readonly sinceMs: number };
  /** How many callers are making the next one. */
  renewals: number;
}

/** A report is recent for this time per exchange, as it takes about 0.01 ms per exchange. */
const recentMsEach = 2;
const longestRecentMs = 20_000;
/** If callers found no change for this time, the next one gets a new report. */
export const quietMs = 2_000;

/**
 * The last two reports on each record: the page asks for the verdict so far, and for that of a
 * finished client. By the array of the record's first exchanges, which a restart replaces.
 */
const keptReports = new WeakMap<readonly RecordedExchange[], readonly KeptReport[]>();

/**
 * Judges the requests so far, in slices. Requests that arrive meanwhile are left out.
 * `acceptsRecent`: the caller also takes a report on an earlier state of the record.
 */
export function* keptReportOn(
  { exchangeRecord, simulation }: RunningWorld,
  judgeOptions: Options,
  acceptsRecent = false,
): Generator<undefined, KeptReport> {
  const { changes, lack, isCutAtStart, first } = exchangeRecord;
  const { keyRing, messages } = simulation.world;
  const options = JSON.stringify(judgeOptions);
  const last = keptReports.get(first)?.find((kept) => kept.options === options);
  if (last?.changes === changes) return last;
  if (last !== undefined) {
    if (acceptsRecent && noticeChanges(last, changes, first.length)) return last;
    last.renewals += 1;
  }
  try {
    const report = yield* judging(yield* exchangesInSlices(exchangeRecord, keyRing.texts), {
      ...judgeOptions,
      lack,
      isCutAtStart,
      endsUndelivered: (id) => isUndelivered(messages.get(id)),
    });
    const madeMs = performance.now();
    const noticed = { changes, sinceMs: madeMs };
    const kept = { report, options, changes, madeMs, noticed, renewals: 0 };
    // Reports of the client itself are judged by what became of its messages, which may change.
    if (judgeOptions.reports === undefined) {
      const others = keptReports.get(first)?.filter((each) => each.options !== options) ?? [];
      keptReports.set(first, [kept, ...others.slice(0, 1)]);
    }
    return kept;
  } finally {
    if (last !== undefined) last.renewals -= 1;
  }
}

/** Notes the present number of changes. Returns true if the report still counts as recent. */
function noticeChanges(kept: KeptReport, changes: number, exchangeCount: number): boolean {
  const nowMs = performance.now();
  if (kept.noticed.changes !== changes) kept.noticed = { changes, sinceMs: nowMs };
  // Another page takes the last report meanwhile, so that several pages cost as much as one.
  if (kept.renewals > 0) return true;
  if (nowMs - kept.noticed.sinceMs >= quietMs) return false;
  return nowMs - kept.madeMs < Math.min(longestRecentMs, recentMsEach * exchangeCount);
}
