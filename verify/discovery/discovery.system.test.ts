/**
 * A simulator started from the discovery of a foreign server answers random requests, which the
 * harness did not send, as that server does. `SMSTWIN_VARIATION=odd` takes one server, and prints
 * what was discovered.
 */
import { expect, test } from 'vitest';
import { variations } from '../foreign/variation.ts';
import { runs, sample } from '../testkit/runs.ts';
import { answersNotReproduced, differences, discover } from './discovery.ts';

/** What discovery does not see. */
const unseen = [
  // A wait of one second, which the simulator words in another way.
  /available in 1 seconds\./,
  // The content type of the tasks of a device that had none.
  /\/tasks\/ .*\n.*got 200 \S+ (\{"tasks":\[\]\}); the model expects 200 .*charset\S+ \1$/,
];

const one = process.env['SMSTWIN_VARIATION'];

// `npm run discovery` tries all of them, each with as many times the random requests.
const some = sample(['odd', 'gateway', 'jsonapi', 'framework'], 1);
const sequences = runs(75);

test.each(one === undefined ? some : [one])(
  'what was discovered of a foreign server (%s) answers as it does',
  async (name) => {
    const variation = variations[name];
    if (variation === undefined) throw new Error(`no variation is called ${name}`);
    const discovery = await discover(variation);
    if (one !== undefined) console.log(discovery);
    const { requests, found } = differences(variation, discovery, sequences);
    expect(requests).toBeGreaterThan(33 * sequences);
    expect(found.filter((text) => !unseen.some((known) => known.test(text)))).toEqual([]);
    expect(await answersNotReproduced(discovery)).toEqual([]);
  },
  180_000,
);
