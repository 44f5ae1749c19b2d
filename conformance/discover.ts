/**
 * Writes observations as an assumptions file: `serve --assumptions FILE` then behaves as the target
 * did. Leaves out what could not be determined; reports give the reasons.
 */
import { writeFileSync } from 'node:fs';
import type { Result } from './result.ts';
import { isObject } from './verify.ts';

export interface Discovered {
  readonly answers: Readonly<Record<string, unknown>>;
  /** By assumption: the reason why its answer is missing. */
  readonly undetermined: Readonly<Record<string, string>>;
}

export function discovered(results: readonly Result[]): Discovered {
  const answers: Record<string, unknown> = {};
  const undetermined: Record<string, string> = {};
  for (const result of results) {
    if (result.kind !== 'assumption') continue;
    const { subject, seen, parts = {} } = result;
    if (result.verdict !== 'observed') undetermined[subject] = result.reason ?? result.verdict;
    else answers[subject] = isObject(seen) ? { ...Object(answers[subject]), ...seen } : seen;
    for (const [part, why] of Object.entries(parts)) undetermined[`${subject}.${part}`] = why;
  }
  return { answers, undetermined };
}

export function writeDiscovered(file: string, found: Discovered): void {
  writeFileSync(file, `${JSON.stringify(found.answers, null, 2)}\n`);
}
