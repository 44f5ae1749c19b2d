import { expect, test } from 'vitest';
import { allCases } from '../cases/all.ts';
import { itemsOf } from './schedule-items.ts';

const means = {
  flags: {},
  hasControl: false,
  isOwn: false,
  discovers: false,
  seed: 1,
  timeoutMs: 120_000,
};

/** The recordings that a case judges, without a control port. */
function recordingsOf(id: string) {
  return allCases.find((each) => each.id === id)?.recordings ?? [];
}

const recordings = [
  ...recordingsOf('LIMIT-4/many-minutes'),
  ...recordingsOf('LIMIT-5/many-minutes'),
];
const [anyCase] = allCases;
const items = anyCase === undefined ? [] : itemsOf([{ ...anyCase, recordings }], means);

function itemWith(name: string) {
  return items.find(({ recordings }) => recordings.some((one) => one.name === name));
}

test('a recording that follows another waits for it', () => {
  const flood = itemWith('flood of received');
  expect(flood?.full).toContain('received');
  expect(itemWith('bursts of received')?.after).toEqual([flood?.id]);
});

test('recordings for idle time come last, and their cases wait for them', () => {
  const early = itemWith('an early flood of tasks');
  expect(items.slice(-2)).toEqual([itemWith('an early request for received'), early]);
  expect(items.find(({ case: one }) => one !== undefined)?.after).toContain(early?.id);
});
