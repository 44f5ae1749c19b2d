/**
 * A simulator started from the discovery of a foreign server answers like that server: of 100
 * requests that the harness did not send, at most five differ; eight where the server has habits that
 * no assumption names.
 */
import { expect, test } from 'vitest';
import { variations } from '../foreign/variation.ts';
import { compareAfterDiscovery } from './discovery.ts';

test.each([
  ['jsonapi', 0.05],
  ['gateway', 0.05],
  ['odd', 0.08],
  ['framework', 0.08],
] as const)(
  'what was discovered of a foreign server (%s) answers as it does',
  async (name, mostDifferent) => {
    const variation = variations[name];
    if (variation === undefined) throw new Error(`no variation is called ${name}`);
    const { differences, lost, probes } = await compareAfterDiscovery(variation);
    expect(probes).toBeGreaterThan(100);
    expect(
      differences.length / probes,
      differences.map((each) => each.name).join(),
    ).toBeLessThanOrEqual(mostDifferent);
    expect(lost).toEqual([]);
  },
  180_000,
);
