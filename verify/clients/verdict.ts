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
import type { ClientRow } from './client.ts';
import type { Run } from './run.ts';

/**
 * The seeds under which a client runs. A right client gets more, because only a rare course of
 * events might make the referee fail it. `SMSTWIN_SEEDS` overrides their number.
 */
export function seedsOf({ rule }: ClientRow, { wrong = 1, right = 2 } = {}): number[] {
  const count = Number(process.env['SMSTWIN_SEEDS'] ?? (rule === undefined ? right : wrong));
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

/** The verdict on the whole run. */
function verdictOn({ journal, intents }: Run): RefereeReport {
  return inFolder((journalFile, intentsFile) => {
    writeFileSync(journalFile, journal);
    writeFileSync(intentsFile, `${intents.join('\n')}\n`);
    const { exchanges, lack, differing } = exchangesOfJournalFile(journalFile);
    if (differing > 0) throw new Error(`${differing} replies differ when played again`);
    return judge(exchanges, { lack, reports: readIntentsFile(intentsFile) });
  });
}

/** The rules that the run broke, each with the findings of the referee. */
function brokenRules({ rules }: RefereeReport): Map<string, string> {
  return new Map(
    rules
      .filter(({ findings }) => findings.length > 0)
      .map(({ id, findings }) => [id, findings.map(({ what }) => what).join('\n')]),
  );
}

const cutsPerRun = 6;

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
