/** Judges traffic in memory, and names the rules that failed and passed. */
import type { TrafficEvent } from '#contract/exchange.ts';
import { rules } from '#contract/rules.ts';
import { TrafficJudge } from '#judging/recorded/judge-recorded.ts';

/** The verdicts: ids of rules, and for each failed one what is wrong. */
export interface Judged {
  readonly failed: readonly string[];
  readonly passed: readonly string[];
  readonly complaints: readonly string[];
}

export function judge(
  events: readonly TrafficEvent[],
  options: { readonly isComplete: boolean; readonly joined?: readonly (readonly string[])[] },
): Judged {
  const judged = new TrafficJudge({ joined: [], rules: rules.map(({ id }) => id), ...options });
  for (const event of events) judged.take(event);
  judged.end();
  const all = [...judged.findings];
  const failed = all.filter(([, { broken }]) => broken !== undefined);
  return {
    failed: failed.map(([id]) => id),
    passed: all.flatMap(([id, { broken, exercised }]) =>
      broken === undefined && exercised > 0 ? [id] : [],
    ),
    complaints: failed.map(
      ([id, { broken, proof }]) =>
        `${id}: expected ${broken?.expected}; actual ${broken?.actual} (${proof.length} exchanges)`,
    ),
  };
}
