/**
 * Decides whether a measurement is valid. A saturated generator only measures itself.
 */
import type { LoadResult } from './load/load-result.ts';

const fullCore = 0.95;
const mostLateShare = 0.01;

/** Why the rounds are not valid, one line each; empty if they are. */
export function invalidity(loads: readonly LoadResult[], isOpenLoop: boolean): string[] {
  const total = (count: (load: LoadResult) => number): number =>
    loads.reduce((sum, load) => sum + count(load), 0);
  const requests = total((load) => load.requests);
  const errors = total((load) => load.errors);
  const late = total((load) => load.late);
  const dropped = total((load) => load.dropped);
  const why: string[] = [];
  if (requests === 0) why.push('no reply arrived');
  if (errors > 0)
    why.push(`${errors} of ${requests} requests failed or were answered unexpectedly`);
  if (!isOpenLoop) return why;
  const cores = Math.max(...loads.map((load) => load.generatorCores));
  if (cores >= fullCore) {
    why.push(`the generator was saturated: it used ${cores.toFixed(2)} of a core`);
  }
  if (late > requests * mostLateShare) {
    why.push(`the generator sent ${late} of ${requests} requests later than intended`);
  }
  if (dropped > 0) why.push(`${dropped} requests found no free connection and were dropped`);
  return why;
}
