/**
 * The kill matrix: the harness against planted defects, until a case catches each. `test:all` tries
 * a quarter of them; `SMSTWIN_RUNS=4` all, and then each case must meet a defect that fails it. It
 * has a control port by default; `npm run conform:defects` runs all cases of its rule against each
 * defect, and prints which catch it. With `SMSTWIN_MATRIX=flags` it has only flags and real time,
 * or time at `SMSTWIN_RATE` times the speed. `SMSTWIN_SAMPLE` defects are drawn by `SMSTWIN_SEED`.
 */
import fc from 'fast-check';
import { afterAll, expect, test, vi } from 'vitest';
import { defects } from '../defects/catalogue.ts';
import type { Defect } from '../defects/planted.ts';
import { sample, seed } from '../testkit/runs.ts';
import {
  complaintOf,
  type Kill,
  rowOf,
  tryDefect,
  tryInTurn,
  untestedCases,
  withControl,
} from './kill.ts';

const { SMSTWIN_MATRIX, SMSTWIN_RATE = '1', SMSTWIN_SAMPLE } = process.env;
const hasControl = SMSTWIN_MATRIX !== 'flags';
const access = hasControl ? withControl : { rate: Number(SMSTWIN_RATE) };

const count = Math.min(Number(SMSTWIN_SAMPLE ?? defects.length), defects.length);
const ofThisLength = { minLength: count, maxLength: count };
const draw = fc.shuffledSubarray([...defects], ofThisLength);
const usual = SMSTWIN_MATRIX === undefined ? sample(defects, defects.length / 4) : defects;
const [chosen = []] = SMSTWIN_SAMPLE === undefined ? [usual] : fc.sample(draw, { seed });

const kills = new Map<Defect, Kill>();

afterAll(() => {
  // Without a control port, some cases have nothing that they could look at.
  if (hasControl && chosen.length === defects.length)
    expect(untestedCases(kills), 'cases that no defect of their rule fails').toEqual([]);
});

// Without a control port the harness mostly waits. No project takes this option from a command line.
if (!hasControl) vi.setConfig({ maxConcurrency: 48 });
const testOf = hasControl ? test : test.concurrent;

testOf.each(chosen)('$rule $name', async (defect) => {
  let kill = await (SMSTWIN_MATRIX === undefined
    ? tryInTurn(defect, kills)
    : tryDefect(defect, access, hasControl));
  // A busy machine delays requests, so fewer cases can judge: once more, in real time.
  const isRepeated = !hasControl && complaintOf(defect, kill, hasControl) !== undefined;
  if (isRepeated) kill = await tryDefect(defect, {});
  kills.set(defect, kill);
  if (SMSTWIN_MATRIX !== undefined) process.stdout.write(`${rowOf(defect, kill)}\n`);
  expect(complaintOf(defect, kill, hasControl)).toBeUndefined();
});
