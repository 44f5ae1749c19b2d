/**
 * Every answer of every assumption looks as its example says, in the simulator and the model.
 * Assumes: all, by name.
 */
import { expect, test } from 'vitest';
import { assumptionNames } from '#contract/assumptions.ts';
import { assumptionLedger } from '#src/sim/assumptions.ts';
import { scans, withoutComments } from '../repository/modules.ts';
import { examples, randomAnswers } from '../testkit/examples/examples.ts';
import { Scene } from '../testkit/twin/scene.ts';

const mend =
  'if the service is right, mend the example or the observation in conformance/cases/; otherwise ' +
  'the service and verify/model/';

const examplesOfAnswers = assumptionNames.flatMap((name) =>
  (examples[name].shows ?? []).map(([answer, text]) => ({
    name,
    answer,
    text,
    asText: JSON.stringify(answer),
  })),
);

test.each(examplesOfAnswers)('$name $asText: $text', ({ name, answer, text }) => {
  const { scene, startsAt } = examples[name];
  const stage = new Scene({ [name]: answer }, startsAt);
  try {
    expect(scene(stage), mend).toBe(text);
  } finally {
    stage.stop();
  }
});

test.each(examplesOfAnswers)(
  '$name $asText, switched at run time: $text',
  ({ name, answer, text }) => {
    const { scene, startsAt } = examples[name];
    // Keys and poll phases are drawn at creation and not drawn again.
    if (name === 'keyFormat' || name === 'pollIntervalSeconds') return;
    const stage = new Scene({}, startsAt);
    try {
      stage.play({ kind: 'assume', name, answer });
      expect(scene(stage), mend).toBe(text);
    } finally {
      stage.stop();
    }
  },
);

test('the answers of an assumption have different examples', () => {
  for (const name of assumptionNames) {
    const rows = examples[name].shows.map(([, text]) => text) ?? [];
    expect(new Set(rows).size, name).toBe(rows.length);
  }
});

test('every name of the ledger has an example for each of its answers, the default first', () => {
  for (const name of assumptionNames) {
    const { answers: named, default: fallback } = assumptionLedger[name];
    const answers = examples[name].shows.map(([answer]) => answer) ?? [];
    expect(answers[0], name).toEqual(fallback);
    expect(answers, name).toEqual(expect.arrayContaining([...named]));
    expect(randomAnswers[name][0], name).toEqual(fallback);
    expect(randomAnswers[name], name).toEqual(expect.arrayContaining([...named]));
    if (named.length === 0) expect(answers.length, name).toBeGreaterThan(1);
  }
});

test('the code reads every assumption that has a choice', () => {
  const source = scans.deciding.map(({ text }) => withoutComments(text)).join('\n');
  const unread = assumptionNames.filter((name) => !new RegExp(`\\b${name}\\b`).test(source));
  expect(unread.filter((name) => randomAnswers[name].length > 1)).toEqual([]);
});
