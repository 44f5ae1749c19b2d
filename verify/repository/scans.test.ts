/** States how many files each test reads that looks at the text of code. */
import { expect, test } from 'vitest';
import { scans } from './modules.ts';

/** The least number of files: a room that moves must not take its files out of a test's sight. */
const least = {
  everything: 800,
  code: 440,
  tests: 130,
  deterministic: 55,
  headed: 110,
  deciding: 75,
  twin: 295,
  core: 140,
  portable: 400,
} satisfies Record<keyof typeof scans, number>;

test.each(Object.entries(scans))('%s reads as many files as it should', (name, modules) => {
  expect(modules.length).toBeGreaterThanOrEqual(least[name as keyof typeof scans]);
  expect(modules.every(({ text }) => text !== '')).toBe(true);
});

test('imports are found, also those of another room', () => {
  const imports = scans.code.find(({ path }) => path === 'src/sim/accounts/registry.ts')?.imports;
  expect(imports).toEqual(expect.arrayContaining(['src/sim/random.ts', 'contract/time.ts']));
});
