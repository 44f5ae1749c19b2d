/**
 * Judges a run that has ended: by its journal, and with the journal cut at many places as the
 * record of a client that has not finished.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exchangesOfJournalFile } from '#cli/replay/replay-journal.ts';
import { type Report, readIntentsFile } from '#judging/client/intents-file.ts';
import { judge, type RefereeReport } from '#judging/client/judge.ts';
import { reportJson } from '#judging/client/report-json.ts';
import type { RequestEntry } from '#judging/evidence/journal-entry.ts';
import type { Simulator } from '#src/api.ts';
import type { RefereeReportJson } from '#src/operations/requests/referee.ts';
import { Rng } from '#src/sim/random.ts';
import type { ClientRow, Message } from './client.ts';

/** One run of a client, as it stands when the client has ended. */
export interface Run {
  /** The journal of the service. */
  readonly journal: string;
  /** Lines of the intents file. */
  readonly intents: readonly string[];
  /** The report of the simulator itself. */
  readonly live: RefereeReportJson;
}

export function runOf(simulator: Simulator, intents: readonly string[]): Run {
  const reports = intents.map((line) => JSON.parse(line) as Report);
  return {
    journal: simulator.journalText(),
    intents,
    live: simulator.referee({ intents: reports }),
  };
}

export function intentLine(
  { intent, to, from, message }: Message,
  requestId: string | undefined,
  reported: 'accepted' | 'delivered' | 'failed',
): string {
  const id = requestId === undefined ? {} : { request_id: requestId };
  return JSON.stringify({ intent, to, from, message, ...id, reported });
}

/** The verdict on the whole run. */
function verdictOf({ journal, intents }: Run): RefereeReport {
  return inFolder((journalFile, intentsFile) => {
    writeFileSync(journalFile, journal);
    writeFileSync(intentsFile, `${intents.join('\n')}\n`);
    const { exchanges, lack, notices } = exchangesOfJournalFile(journalFile);
    if (notices.length > 0) throw new Error(notices.join('\n'));
    return judge(exchanges, { lack, reports: readIntentsFile(intentsFile) });
  });
}

/**
 * What is wrong with the verdicts on a run, and for a right client on the run cut at many places.
 */
export function complaints(client: ClientRow, seed: number, run: Run): string[] {
  const report = verdictOf(run);
  const broken = brokenRules(report);
  const offline = JSON.stringify(reportJson(report));
  if (JSON.stringify(run.live) !== offline) {
    return [`the live report differs: ${JSON.stringify(run.live)}\n${offline}\n${requestsOf(run)}`];
  }
  if (client.rule !== undefined) {
    const expected: readonly string[] = [client.rule, ...(client.also ?? [])];
    const others = [...broken].filter(([id]) => !expected.includes(id));
    return [
      ...(broken.has(client.rule) ? [] : [`not found by ${client.rule}\n${requestsOf(run)}`]),
      ...others.map(([id, what]) => `found by ${id} too: ${what}\n${requestsOf(run)}`),
    ];
  }
  const places = cutPlaces(run, Rng.stream(seed, client.name));
  return [
    ...[...broken].map(([id, what]) => `found by ${id}: ${what}\n${requestsOf(run)}`),
    ...brokenWhenCut(run, places).map((line) => `${line}\n${requestsOf(run)}`),
  ];
}

const cutsPerRun = 6;

/** The rules that the run broke, each with the findings of the referee. */
function brokenRules({ rules }: RefereeReport): Map<string, string> {
  return new Map(
    rules
      .filter(({ findings }) => findings.length > 0)
      .map(({ id, findings }) => [id, findings.map(({ what }) => what).join('\n')]),
  );
}

/** The requests of a run, one a line: what a failure shows. */
function requestsOf({ journal, intents }: Run): string {
  const lines = journal
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Partial<RequestEntry>)
    .map(({ at = '', request, reply }) => {
      if (request === undefined || reply === undefined) return '';
      const { method, path, query = '', body = '' } = request;
      const { status, headers, delivery } = reply;
      const wait = headers?.['retry-after'] ?? '';
      return [at.slice(8), method, path, query, body, status, wait, JSON.stringify(delivery)].join(
        ' ',
      );
    });
  return [...lines.filter((line) => line !== ''), ...intents].join('\n');
}

/**
 * The rules that the journal breaks if it is cut after so many bytes. A right client breaks none.
 */
function brokenWhenCut({ journal }: Run, places: readonly number[]): string[] {
  const bytes = Buffer.from(journal);
  return inFolder((journalFile) =>
    places.flatMap((place) => {
      writeFileSync(journalFile, bytes.subarray(0, place));
      const { exchanges } = exchangesOfJournalFile(journalFile);
      return [...brokenRules(judge(exchanges, { isPartial: true }))].map(
        ([id, what]) => `cut after ${place} bytes, ${exchanges.length} exchanges: ${id} ${what}`,
      );
    }),
  );
}

/** Places in a journal after its header: alternately within a line and at the end of one. */
function cutPlaces({ journal }: Run, rng: Rng): number[] {
  const bytes = Buffer.from(journal);
  const header = bytes.indexOf('\n') + 1;
  const places = Array.from(
    { length: cutsPerRun },
    () => header + rng.below(bytes.length - header),
  );
  return places.map((place, index) =>
    index % 2 === 0 ? place : bytes.lastIndexOf('\n', place) + 1,
  );
}

function inFolder<T>(act: (journalFile: string, intentsFile: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-clients-'));
  try {
    return act(join(folder, 'run.ndjson'), join(folder, 'intents.ndjson'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
