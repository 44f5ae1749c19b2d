/**
 * Judges a run that has ended: by its journal, and with the journal cut at many places as the
 * record of a client that has not finished.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exchangesOfJournalFile } from '#cli/replay/replay-journal.ts';
import { readIntentsFile } from '#judging/client/intents-file.ts';
import { judge, type RefereeReport } from '#judging/client/judge.ts';
import { reportJson } from '#judging/client/report-json.ts';
import { Rng } from '#src/sim/random.ts';
import { runs } from '../testkit/runs.ts';
import type { Run } from './run.ts';

/**
 * The seeds under which a client runs: one, or `SMSTWIN_SEEDS`, as only a rare course of events might
 * make the referee fail a right client (`npm run clients`).
 */
export function seedsOf(): number[] {
  const count = Number(process.env['SMSTWIN_SEEDS'] ?? 1);
  return Array.from({ length: count }, (_, at) => at + 1);
}

/** What is wrong with the verdicts on a run; for a right client, also on the run cut short. */
export function complaints(run: Run): string[] {
  const { client, live } = run;
  const report = verdictOn(run);
  const broken = brokenRules(report);
  const expected: readonly string[] =
    client.rule === undefined ? [] : [client.rule, ...(client.also ?? [])];
  const found: string[] = [];
  if (JSON.stringify(live) !== JSON.stringify(reportJson(report)))
    found.push(`the live report differs: ${JSON.stringify(live)}`);
  if (client.rule === undefined) found.push(...brokenWhenCut(run));
  else if (!broken.has(client.rule)) found.push(`not found by ${client.rule}`);
  for (const [id, what] of broken)
    if (!expected.includes(id)) found.push(`found by ${id}: ${what}`);
  const record = [run.journal.trim(), ...run.intents].join('\n');
  return found.map((what) => `${client.name}, seed ${run.seed}: ${what}\n${record}`);
}

function verdictOn({ journal, intents }: Run): RefereeReport {
  return inFolder((journalFile, intentsFile) => {
    writeFileSync(journalFile, journal);
    writeFileSync(intentsFile, `${intents.join('\n')}\n`);
    const { exchanges, lack, differing } = exchangesOfJournalFile(journalFile);
    if (differing > 0) throw new Error(`${differing} replies differ when played again`);
    return judge(exchanges, { lack, reports: readIntentsFile(intentsFile) });
  });
}

function brokenRules({ rules }: RefereeReport): Map<string, string> {
  return new Map(
    rules
      .filter(({ findings }) => findings.length > 0)
      .map(({ id, findings }) => [id, findings.map(({ what }) => what).join('\n')]),
  );
}

const cutsPerRun = runs(3);

/** The rules that a journal breaks when it is cut, alternately within a line and at its end. */
function brokenWhenCut({ client, seed, journal }: Run): string[] {
  const rng = Rng.stream(seed, client.name);
  const bytes = Buffer.from(journal);
  const header = bytes.indexOf('\n') + 1;
  return inFolder((journalFile) =>
    Array.from({ length: cutsPerRun }, (_, index) => {
      const place = header + rng.below(bytes.length - header);
      const end = index % 2 === 0 ? place : bytes.lastIndexOf('\n', place) + 1;
      writeFileSync(journalFile, bytes.subarray(0, end));
      const { exchanges } = exchangesOfJournalFile(journalFile);
      return [...brokenRules(judge(exchanges, { isPartial: true }))].map(
        ([id, what]) => `cut after ${end} bytes, ${exchanges.length} exchanges: ${id} ${what}`,
      );
    }).flat(),
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
