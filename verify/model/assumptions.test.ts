/**
 * Every assumption changes only what its row describes. Rules: all; assumes: all, by name.
 */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, expect, test, vi } from 'vitest';
import { assumptionsPage, assumptionsPageText } from '../../scripts/write-assumptions-page.ts';
import {
  type AssumptionName,
  assumptionLedger,
  assumptionNames,
} from '../../src/sim/assumptions.ts';
import { examples, randomAnswers } from '../testkit/examples/examples.ts';
import { reaches } from '../testkit/examples/reach.ts';
import { runs } from '../testkit/runs.ts';
import { Scene } from '../testkit/scene.ts';
import type { TraceLine } from '../testkit/session.ts';
import type { Step } from '../testkit/steps/steps.ts';
import { setupArbitrary } from './commands.ts';
import { play, stepsArbitrary } from './trace.ts';

vi.setConfig({ testTimeout: 300_000 });

const shown = assumptionNames.flatMap((name) =>
  (examples[name].shows ?? []).map(([answer, shown]) => ({
    name,
    answer,
    shown,
    asText: JSON.stringify(answer),
  })),
);

test.each(shown)('$name $asText: $shown', ({ name, answer, shown }) => {
  const { scene, startsAt } = examples[name];
  const stage = new Scene({ [name]: answer }, startsAt);
  try {
    expect(scene(stage)).toBe(shown);
  } finally {
    stage.stop();
  }
});

test.each(shown)('$name $asText, switched at run time: $shown', ({ name, answer, shown }) => {
  const { scene, startsAt } = examples[name];
  // Keys and poll phases are drawn at creation and not drawn again.
  if (name === 'keyFormat' || name === 'pollIntervalSeconds') return;
  const stage = new Scene({}, startsAt);
  try {
    stage.play({ kind: 'assume', name, answer });
    expect(scene(stage)).toBe(shown);
  } finally {
    stage.stop();
  }
});

test('the answers of an assumption have different examples', () => {
  for (const name of assumptionNames) {
    const shown = examples[name].shows.map(([, text]) => text) ?? [];
    expect(new Set(shown).size, name).toBe(shown.length);
  }
});

test('every name of the ledger has an example for each of its answers, the default first', () => {
  for (const name of assumptionNames) {
    const { answers: named, default: fallback } = assumptionLedger[name];
    const shown = examples[name].shows.map(([answer]) => answer) ?? [];
    expect(shown[0], name).toEqual(fallback);
    expect(shown, name).toEqual(expect.arrayContaining([...named]));
    expect(randomAnswers[name][0], name).toEqual(fallback);
    expect(randomAnswers[name], name).toEqual(expect.arrayContaining([...named]));
    if (named.length === 0) expect(shown.length, name).toBeGreaterThan(1);
  }
});

test('the code reads every assumption that has a choice', () => {
  const source = ['sim', 'actors', 'http'].map(codeUnder).join('\n');
  const unread = assumptionNames.filter((name) => !new RegExp(`\\b${name}\\b`).test(source));
  expect(unread.filter((name) => randomAnswers[name].length > 1)).toEqual([]);
});

/** The acting code of a folder, without the ledger, descriptions, comments and tests. */
function codeUnder(folder: string): string {
  const root = new URL(`../../src/${folder}/`, import.meta.url);
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .filter((path) => !/^(assumption|openapi)/.test(path))
    .map((path) => readFileSync(new URL(path, root), 'utf8'))
    .join('\n')
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}

test('docs/assumptions.md is current (npx tsx scripts/write-assumptions-page.ts)', () => {
  expect(readFileSync(assumptionsPage, 'utf8')).toBe(assumptionsPageText());
});

const withChoice = assumptionNames.filter((name) => randomAnswers[name].length > 1);
/** How many runs showed a difference, by assumption. */
const seen = new Map<AssumptionName, number>();

test.each(withChoice)('flipping %s changes only the replies that its row covers', (name) => {
  const anyAnswers = fc.uniqueArray(fc.constantFrom(...randomAnswers[name].keys()), {
    minLength: 2,
    maxLength: 2,
  });
  const property = fc.property(setupArbitrary, stepsArbitrary, anyAnswers, (setup, any, two) => {
    const steps = any.filter((step) => !isAbout(name, step));
    const [a = [], b = []] = two.map((i) => {
      const assumptions = { ...setup.assumptions, [name]: randomAnswers[name][i] };
      return play({ ...setup, assumptions }, steps).trace;
    });
    const first = a.findIndex((line, i) => textOf(line) !== textOf(b[i]));
    const [before, after] = [a[first], b[first]];
    if (before === undefined || after === undefined) return;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    expect(
      reaches[name](before, after),
      `${before.request.method} ${before.request.path} ` +
        `${before.request.body}\n${textOf(before)}\n${textOf(after)}`,
    ).toBe(true);
  });
  fc.assert(property, { numRuns: runs(3) });
});

/** Steps that switch the assumption again, or whose meaning depends on it. */
function isAbout(name: AssumptionName, step: Step): boolean {
  if (step.kind === 'advance_to') return name === 'pollIntervalSeconds' && step.what === 'poll';
  return step.kind === 'assume' && step.name === name;
}

afterAll(() => {
  const neverSeen = withChoice.filter((name) => !seen.has(name));
  if (process.env['MODEL_REPORT']) console.log('no difference seen:', neverSeen.join(' '));
});

function textOf(line: TraceLine | undefined): string {
  return JSON.stringify([line?.reply.status, line?.reply.headers, line?.reply.body]);
}
