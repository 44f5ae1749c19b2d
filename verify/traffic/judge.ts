/** Judges traffic in memory, and names the rules that failed and passed. */

import type { TrafficExchange } from '#contract/exchange.ts';
import { rules } from '#contract/rules.ts';
import { TrafficJudge } from '#judging/recorded/judge-recorded.ts';
import type { LoadTarget } from './load-target.ts';

/** The ids of rules, and what is wrong. */
export interface Judged {
  readonly failed: readonly string[];
  readonly passed: readonly string[];
  readonly complaints: readonly string[];
}

export function judge(
  exchanges: readonly TrafficExchange[],
  options: { readonly isComplete: boolean; readonly joined?: readonly (readonly string[])[] },
): Judged {
  const judged = new TrafficJudge({ joined: [], rules: rules.map(({ id }) => id), ...options });
  for (const exchange of exchanges) judged.take(exchange);
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

/** The keys of each account: an account's keys are judged as one caller. */
export function joinedIn({
  key,
  otherKey,
  revokedKey,
  secondKey,
  exhaustedKey,
}: LoadTarget): readonly (readonly string[])[] {
  return [[key, otherKey, revokedKey], [secondKey], [exhaustedKey]];
}
