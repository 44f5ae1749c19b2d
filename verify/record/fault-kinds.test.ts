import { expect, onTestFinished, test } from 'vitest';
import { startRecording } from '#record/record.ts';
import { alikeOver, faults, senderTo, startWithFaults } from '../testkit/fault-looks.ts';
import { newPath } from '../testkit/served-fixture.ts';

test('the recorder: each kind of fault looks like no other', async () => {
  const simulator = startWithFaults([]);
  const { baseUrl } = await simulator.listen();
  const recorder = await startRecording({ upstream: new URL(baseUrl), out: newPath(), faults });
  onTestFinished(() => recorder.close());
  const alike = await alikeOver('recorder', senderTo(simulator, recorder.baseUrl));
  expect(alike, 'mend record/proxied-exchange.ts').toEqual([]);
});
