/**
 * A simulator started from the discovery of a foreign server answers like that server: of 100
 * requests that the harness did not send, at most five differ. `SMSTWIN_VARIATION=odd` takes one
 * server, and prints the probes that differ and the assumptions file.
 */
import { expect, test } from 'vitest';
import { variations } from '../foreign/variation.ts';
import { compareAfterDiscovery } from './discovery.ts';

const mostDifferent = 0.05;

const one = process.env['SMSTWIN_VARIATION'];

test.each(one === undefined ? ['jsonapi', 'gateway', 'odd', 'framework'] : [one])(
  'what was discovered of a foreign server (%s) answers as it does',
  async (name) => {
    const variation = variations[name];
    if (variation === undefined) throw new Error(`no variation is called ${name}`);
    const comparison = await compareAfterDiscovery(variation);
    if (one !== undefined) console.log(comparison);
    const { differences, notReproduced, probes } = comparison;
    expect(probes).toBeGreaterThan(100);
    const listed = JSON.stringify(differences, null, 1);
    expect(differences.length / probes, listed).toBeLessThanOrEqual(mostDifferent);
    expect(notReproduced).toEqual([]);
  },
  180_000,
);
