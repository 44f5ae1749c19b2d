import { expect, test } from 'vitest';
import { Control } from './control.ts';
import { Masks } from './masks.ts';
import { RunFacts } from './run-facts.ts';

test('no case moves time beside others', async () => {
  const control = new Control({
    url: 'http://127.0.0.1:1',
    token: undefined,
    timeoutMs: 1_000,
    masks: new Masks(),
    seed: 1,
    facts: new RunFacts({}, false),
  });
  const moves = [
    () => control.advance(1),
    () => control.advanceTo(control.now + 1),
    () => control.advanceToTheEnd(),
  ];
  await control.holdTime(async () => {
    for (const move of moves) await expect(move()).rejects.toThrow('mustRunAlone');
  });
  // Afterwards the port is asked, which nothing serves.
  for (const move of moves) await expect(move()).rejects.not.toThrow('mustRunAlone');
});
