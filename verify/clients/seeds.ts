/** Under how many seeds clients run. `SMSTWIN_SEEDS` overrides what a test asks for. */
import type { ClientEntry } from './client.ts';

export interface Seeds {
  readonly wrong: number;
  readonly right: number;
}

/** A wrong client must be found each time; a right one could be failed by an odd turn of events. */
export const allSeeds: Seeds = { wrong: 2, right: 20 };

export function seedsOf({ rule }: ClientEntry, { wrong, right }: Seeds): number[] {
  const given = process.env['SMSTWIN_SEEDS'];
  const count = given === undefined ? (rule === undefined ? right : wrong) : Number(given);
  return Array.from({ length: count }, (_, at) => at + 1);
}
