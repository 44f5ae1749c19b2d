import { expect, onTestFinished, test } from 'vitest';
import { startRecording } from '#record/record.ts';
import {
  faults,
  mistakesOver,
  senderTo,
  startWithFaults,
  whatToMend,
} from '../testkit/fault-looks.ts';
import { newPath } from '../testkit/served-fixture.ts';

test('the recorder: each kind of fault looks like no other', async () => {
  const simulator = startWithFaults([]);
  const { baseUrl } = await simulator.listen();
  const recorder = await startRecording({ upstream: new URL(baseUrl), out: newPath(), faults });
  onTestFinished(() => recorder.close());
  const mistakes = await mistakesOver('recorder', senderTo(simulator, recorder.baseUrl));
  expect(mistakes, whatToMend('record/proxied-exchange.ts')).toEqual([]);
});
