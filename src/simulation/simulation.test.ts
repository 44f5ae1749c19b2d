import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { type Module, scans } from '#verify/repository/modules.ts';
import { Twin } from '#verify/testkit/twin/twin.ts';
import { parseSettings } from '../config/settings.ts';
import { scriptedOutcomes } from '../sim/devices/outcomes.ts';
import { Simulation } from './simulation.ts';

/** The lines of these modules that match, each behind the path of its file. */
function linesWith(pattern: RegExp, modules: readonly Module[] = scans.code): string[] {
  return modules.flatMap(({ path, text }) =>
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
  const field =
    /^src\/(?:sim|actors|simulation)\/.*: (?:readonly )?#?\w+: (?:Assumptions|Refill)\b.*;$/;
  expect(linesWith(/./).filter((line) => field.test(line))).toEqual([
    'src/sim/assumptions.ts: answers: Assumptions;',
  ]);
  expect(linesWith(/ssumptions\.switch\(/)).toEqual([
    'src/simulation/simulation.ts: this.#assumptions.switch(overrides);',
  ]);
});

/** What only a part of the core could write; a wrong server may write anything. */
const coreLinesWith = (pattern: RegExp) => linesWith(pattern, scans.core);

test('STATE-3 the status of a message is written in one place', () => {
  // What `judging/` writes is what it knows of a reply.
  const isOther = /^judging\/|(slot|reply)\.status/;
  expect(coreLinesWith(/\.status = /).filter((line) => !isOther.test(line))).toEqual([
    'src/sim/store/cohort.ts: this.status = status;',
    'src/sim/store/cohort.ts: to.status = from.status;',
  ]);
  expect(coreLinesWith(/\.become\(/).map((line) => line.split(':')[0])).toEqual([
    'src/actors/lifecycle.ts',
    ...Array(3).fill('src/sim/store/cohort.ts'),
    'src/sim/store/message.ts',
  ]);
});

test('accounts, keys, SIMs and messages enter and leave the world only in registry.ts', () => {
  const collections = 'accounts|keys|devices|messages|pool|received|keyRing|devicesByNumber';
  // `s` is the simulator, whose operations have such names too.
  const write = new RegExp(
    `(?<!\\bs)\\.#?(?:${collections})\\.(?:set|add|delete|clear|push|pop|splice)\\(`,
  );
  const fields =
    /\b(?:account|device|key)\.(?:name|monthlyQuota|revokedAtMs|allowed|connected|active|polling) \??\??= /;
  const writers = coreLinesWith(new RegExp(`${write.source}|${fields.source}`));
  expect(writers.length).toBeGreaterThan(15);
  expect(writers.filter((line) => !line.startsWith('src/sim/accounts/registry.ts'))).toEqual([]);
});

test("a world's own outcomes come before the scripted ones", () => {
  const own = { to: '+1202555016*', ends: 'delivered', polls: 1 } as const;
  const settings = parseSettings({ clock: 'manual', world: { outcomes: [own] } });
  const { world } = new Simulation(settings, settings.startTimeMs);
  expect(world.outcomes.list).toEqual([own, ...scriptedOutcomes]);
});
