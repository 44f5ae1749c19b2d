import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

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

test('one object holds the assumptions in force, and replaced ones are kept nowhere', async () => {
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
  ]);
  expect(linesWith(/ssumptions\.switch\(/)).toEqual([
    'simulation/simulation.ts: this.#assumptions.switch(overrides);',
  ]);
});

/** What only a part of the core could write; a wrong server may write anything. */
const core = /^(?:actors|invariants|operations|recording|sim|simulation)\//;
const coreLinesWith = (pattern: RegExp) => linesWith(pattern).filter((line) => core.test(line));

test('STATE-3 the status of a message is written in one place', () => {
  const isOther = /(slot|reply)\.status/;
  expect(coreLinesWith(/\.status = /).filter((line) => !isOther.test(line))).toEqual([
    'sim/store/cohort.ts: this.status = status;',
    'sim/store/cohort.ts: to.status = from.status;',
  ]);
  expect(coreLinesWith(/\.become\(/).map((line) => line.split(':')[0])).toEqual([
    'actors/lifecycle.ts',
    ...Array(3).fill('sim/store/cohort.ts'),
    'sim/store/message.ts',
  ]);
});

test('accounts, keys, SIMs and messages enter and leave the world in world.ts alone', () => {
  const collections = 'accounts|keys|devices|messages|pool|received|keyRing|devicesByNumber';
  // `s` is the simulator, whose operations have such names too.
  const write = new RegExp(
    `(?<!\\bs)\\.#?(?:${collections})\\.(?:set|add|delete|clear|push|pop|splice)\\(`,
  );
  const fields =
    /\b(?:account|device|key)\.(?:name|monthlyQuota|revokedAtMs|allowed|connected|active|polling) \??\??= /;
  const writers = coreLinesWith(new RegExp(`${write.source}|${fields.source}`));
  expect(writers.length).toBeGreaterThan(15);
  expect(writers.filter((line) => !line.startsWith('sim/accounts/world.ts'))).toEqual([]);
});
