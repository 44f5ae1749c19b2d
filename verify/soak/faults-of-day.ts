/**
 * The faults of a day: every third day has two kinds, in turn.
 */

const kinds = [
  { kind: 'lost_response' },
  { kind: 'delay', ms: 30 },
  { kind: 'refuse' },
  { kind: 'status', status: 500 },
  { kind: 'truncate' },
  { kind: 'malformed' },
] as const;

/** Two kinds at a time, each for one request in ten. */
export function faultsOfDay(day: number): object[] {
  if (day % 3 !== 0) return [];
  const first = (day / 3) * 2;
  return [first, first + 1].map((index) => ({
    when: { probability: 0.1 },
    fault: kinds[index % kinds.length],
  }));
}
