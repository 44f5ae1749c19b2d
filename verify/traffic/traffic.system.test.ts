/**
 * Judging recorded traffic: nothing fails a sound service, however the recording was mutilated, and
 * what a wrong one shows is failed by its rule.
 */
import { afterAll, expect, test } from 'vitest';
import { defects, wrongSimulation } from '../defects/catalogue.ts';
import { joinedIn, judge } from './judge.ts';
import { drive, randomFrom, randomSeed, simulatedPlace } from './load.ts';
import { accusations, type Sound, soundForeigner, soundSimulator } from './mutations.ts';

const seed = randomSeed();
const random = randomFrom(seed);
let simulator: Sound | undefined;
afterAll(() => {
  simulator = undefined;
});

test('the traffic of the sound simulator passes every rule that traffic shows', async () => {
  simulator = await soundSimulator({}, random);
  const { complaints, passed } = judge(simulator.exchanges, {
    isComplete: true,
    joined: simulator.joined,
  });
  expect(complaints).toEqual([]);
  expect(passed).toHaveLength(39);
});

test.each(['odd', 'gateway'])('the traffic of the foreign server "%s" fails no rule', (name) => {
  const { exchanges, joined } = soundForeigner(name, random);
  expect(judge(exchanges, { isComplete: true, joined }).complaints).toEqual([]);
});

test('mutilated traffic of a sound service fails no rule', () => {
  const sound = simulator ?? expect.fail('the first test makes it');
  for (let one = 0; one < 8; one++) expect(accusations(sound, random), `seed ${seed}`).toEqual([]);
});

const shown = [
  ...['limit-119', 'retry-after-missing', 'request-id-cut', 'read-without-key'],
  ...['state-skips-sent', 'replay-of-latest', 'length-1599', 'right-spelling-invalid-key'],
  'tasks-ignore-hold',
] as const;

test.each(shown)('the traffic of a server with the defect %s fails its rule', async (name) => {
  const wrong = wrongSimulation(name);
  if (wrong === undefined) expect.fail(`no such defect: ${name}`);
  const place = await simulatedPlace({}, wrong);
  const { failed } = judge(drive(place, random), { isComplete: true, joined: joinedIn(place) });
  await place.close();
  expect(failed, `seed ${seed}`).toContain(defects.find((defect) => defect.name === name)?.rule);
});
