/**
 * `npm run conform:assumptions`: the harness against correct simulators, each with one switched
 * assumption, or none. `-- -t part-of-a-name` tries some.
 */
import { test } from 'vitest';
import { expectSound, singles } from './judge.ts';

test.each([{}, ...singles()])('a simulator with %j is found sound', expectSound);
