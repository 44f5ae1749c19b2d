/** The whole run for programs. Its schema is `report.schema.json` in this folder. */
import type { Summary } from './summary.ts';

export function jsonReport(summary: Summary): string {
  const { title: _, observedName: __, sendsAre: ___, sentenceOf, weighed, ...most } = summary;
  const { discovered, results, rules, ...rest } = most;
  const report = {
    format: 'smstwin-conformance/1',
    ...rest,
    rules: rules.map((rule) => ({ ...rule, sentence: sentenceOf(rule.id) })),
    results: results.map((result) => ({
      ...result,
      ...(weighed.expected.has(result.id)
        ? { expectedFailure: weighed.expected.get(result.id) }
        : {}),
    })),
    staleExpectations: weighed.stale,
    assumptions: discovered,
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}
