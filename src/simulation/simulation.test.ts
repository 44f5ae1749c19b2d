import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Twin } from '../../verify/testkit/twin.ts';

const source = fileURLToPath(new URL('..', import.meta.url));

/** Code outside of tests, by its path below `src/`. */
const code = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: readFileSync(join(source, path), 'utf8') }));

function linesWith(pattern: RegExp): string[] {
  return code.flatMap(({ path, text }) =>
    text
      .split('\n')
      .filter((line) => pattern.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
}

test('one object holds the assumptions in force: what was replaced is kept nowhere', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const twin = new Twin();
  twin.accepted();
  const replaced = new WeakRef(twin.simulation.world.assumptions);
  twin.simulation.assume({ limiterRefill: 'interval', pollIntervalSeconds: 7 });
  // A weak reference keeps its object until the present task is over.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(replaced.deref()).toBeUndefined();
  expect(twin.simulation.world.assumptions).toMatchObject({
    limiterRefill: 'interval',
    pollIntervalSeconds: 7,
  });
});

test('no other class of the simulation has a field of assumptions, and one call switches them', () => {
  const field = /^(?:sim|actors|simulation)\/.*: (?:readonly )?#?\w+: (?:Assumptions|Refill)\b.*;$/;
  expect(linesWith(/./).filter((line) => field.test(line))).toEqual([
    'sim/assumptions-in-force.ts: answers: Assumptions;',
    // What the sums of a quota were counted by: a difference starts the count again.
    "sim/quota.ts: #unit: Assumptions['quotaUnit'] = 'messages';",
    "sim/quota.ts: #month: Assumptions['quotaMonth'] = 'calendar_utc';",
  ]);
  expect(linesWith(/ssumptions\.switch\(/)).toEqual([
    'simulation/simulation.ts: this.#assumptions.switch(overrides);',
  ]);
});
