/**
 * A simulator started from the discovery of a foreign server answers like that server: of 100
 * requests that the harness did not send, at most five differ.
 */
import { expect, test } from 'vitest';
import { variations } from '../foreign/variation.ts';
import { compareAfterDiscovery } from './discovery.ts';

const mostDifferent = 0.05;

test.each(['jsonapi', 'gateway', 'odd', 'framework'])(
  'what was discovered of a foreign server (%s) answers as it does',
  async (name) => {
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
