/**
 * The harness names each answer of a correct simulator, by the cases of its assumption alone.
 * `npm run conform:assumptions` runs all cases against each.
 */
import { test } from 'vitest';
import { expectSound, singleAnswers } from './against-simulator.ts';

test.each(singleAnswers())('%j', (row) => expectSound(row, ...Object.keys(row)));

test('each status of a held message is seen, however short it is', () =>
  expectSound({ progressPace: 'own_delay' }, 'SEND-7/holds', 'progressPace'));
