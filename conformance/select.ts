/** Selects cases by the patterns of the command line. */

import { rules } from '../src/ledger/rules.ts';
import { type AnyCase, idOf, subjectOf } from './case.ts';

/**
 * Selects cases by rule id, assumption name, group (`SEND`), case id, or a part of it; `*` matches
 * anything.
 */
export function select(cases: readonly AnyCase[], patterns: readonly string[]): AnyCase[] {
  if (patterns.length === 0) return [...cases];
  return cases.filter((one) => patterns.some((pattern) => matches(one, pattern.toLowerCase())));
}

/** The groups of rule ids, such as `send`. */
const groups = new Set(rules.map(({ id }) => id.replace(/-\d+$/, '').toLowerCase()));

function matches(one: AnyCase, pattern: string): boolean {
  const id = idOf(one).toLowerCase();
  const subject = subjectOf(one).toLowerCase();
  if (pattern.includes('*')) {
    const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    const glob = new RegExp(`^${parts.join('.*')}$`);
    return glob.test(id) || glob.test(subject);
  }
  if (/^[a-z]+-\d+$/.test(pattern)) return subject === pattern;
  if (groups.has(pattern)) return subject.startsWith(`${pattern}-`);
  return subject === pattern || id.includes(pattern);
}
