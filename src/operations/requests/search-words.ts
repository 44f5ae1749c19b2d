/** The words of a search for requests, and their values. The page offers both. */
import { faultKindNames } from '#contract/fault-kinds.ts';
import { endpointNames } from '#contract/limits.ts';

/** The values of `is:`. */
export const markNames = ['replay', 'lost', 'throttled'] as const;
export type Mark = (typeof markNames)[number];

export const searchWords = [
  'to',
  'from',
  'status',
  'request_id',
  'key',
  'account',
  'endpoint',
  'since',
  'until',
  'message_id',
  'fault',
  'is',
] as const;
export type SearchWord = (typeof searchWords)[number];

/** All values of a word that has few, or usual values. */
export const wordValues: Readonly<Partial<Record<SearchWord, readonly string[]>>> = {
  status: ['2xx', '4xx', '429', '5xx'],
  endpoint: endpointNames,
  fault: ['any', ...faultKindNames],
  is: markNames,
};

/** A word of a search with its value, which gets double quotes if it has blanks. */
export function searchTerm(name: SearchWord, value: string): string {
  return `${name}:${/\s/.test(value) ? `"${value}"` : value}`;
}
