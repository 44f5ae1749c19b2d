/**
 * `npm run conform:assumptions`: the harness against correct simulators, each with one switched
 * assumption, or none. `-- -t part-of-a-name` tries some.
 */
import { test } from 'vitest';
import { expectSound, singleAnswers } from './against-simulator.ts';

test.each([{}, ...singleAnswers()])('a simulator with %j is found sound', (row) =>
  expectSound(row),
);
