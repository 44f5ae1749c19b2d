/**
 * What was observed, as an assumptions file: `serve --assumptions FILE` then behaves as the target
 * did. What could not be told is left out, not guessed; reports give the reasons.
 */
import { writeFileSync } from 'node:fs';
import type { Result } from './result.ts';

export interface Discovered {
  readonly answers: Readonly<Record<string, unknown>>;
  /** By assumption: why its answer is not in the file. */
  readonly untold: Readonly<Record<string, string>>;
}

export function discovered(results: readonly Result[]): Discovered {
  const answers: Record<string, unknown> = {};
  const untold: Record<string, string> = {};
  for (const result of results) {
    if (result.kind !== 'assumption') continue;
    if (result.verdict === 'observed') answers[result.subject] = result.seen;
    else untold[result.subject] = result.reason ?? result.verdict;
  }
  return { answers, untold };
}

export function writeDiscovered(file: string, found: Discovered): void {
  writeFileSync(file, `${JSON.stringify(found.answers, null, 2)}\n`);
}
