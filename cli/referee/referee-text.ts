/**
 * The referee's report as text for a terminal, and the table of the client rules.
 */

import { clientRules } from '#contract/rules.ts';
import { foreignText } from '#io/foreign-text.ts';
import { many, table } from '#io/table.ts';
import type { RefereeReport, RuleJudgement } from '#judging/client/judge.ts';
import type { Summary } from '#judging/report/summary.ts';
import { placeOf, sentences } from './referee-summary.ts';

export function refereeText(
  { rules, intents: { unattributable }, exchanges: { length }, notice }: RefereeReport,
  summary: Summary,
): string {
  const rulesWithFindings = rules.filter(({ findings }) => findings.length > 0);
  const lines = rulesWithFindings.flatMap((rule) => [...findingLines(rule, summary), '']);
  for (const line of summary.weighed.stale) {
    lines.push(`Stale expectation: ${foreignText(line)}`);
  }
  const count = (verdict: string) => rules.filter((rule) => rule.verdict === verdict).length;
  lines.push(
    `${many(length, 'exchange')}: ${count('passed')} rules passed, ${count('failed')} failed, ${count('advice')} advice, ${count('not_exercised')} not exercised.`,
  );
  if (notice !== undefined) lines.push(`Note: ${notice}.`);
  if (unattributable > 0) {
    lines.push(`${unattributable} sends cannot be attributed to one message; they fail no rule.`);
  }
  return `${lines.join('\n')}\n`;
}

/** The text lists this many findings of a rule. */
const shownFindings = 10;

function findingLines({ id: ruleId, verdict, findings }: RuleJudgement, summary: Summary) {
  const { results, weighed } = summary;
  const isExpected = results.some(
    ({ subject, id }) => subject === ruleId && weighed.expected.has(id),
  );
  const head = isExpected ? 'EXPECTED' : verdict.toUpperCase();
  const lines = [`${head}  ${ruleId}  ${sentences.get(ruleId) ?? ''}`];
  for (const finding of findings.slice(0, shownFindings)) {
    lines.push(`  ${foreignText(finding.what)}`, `    ${foreignText(placeOf(finding))}`);
  }
  const more = findings.length - shownFindings;
  if (more > 0) lines.push(`  … and ${more} more`);
  return lines;
}

export function clientRulesTable(): string {
  return table([
    ['RULE', 'LEVEL', 'THE CLIENT'],
    ...clientRules.map(({ id, level, sentence }) => [id, level, sentence]),
  ]);
}
