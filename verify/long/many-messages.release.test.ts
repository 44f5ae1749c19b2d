/** More messages than a call may have arguments. */
import { expect, test } from 'vitest';
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import { sendBy } from '../testkit/twin/twin.ts';

const messages = 150_000;

test('150,000 queued messages are restored, and fail together when their SIM is deactivated', () => {
  const settings: SettingsInput = {
    clock: 'manual',
    noLimits: true,
    assumptions: { monthlyQuota: 'unlimited', deactivation: 'fails' },
  };
  const stayed = new Simulator(settings);
  for (let count = 0; count < messages; count++) sendBy(stayed, 0, {});
  const restored = new Simulator(settings);
  restored.snapshots.restore(stayed.snapshots.take());
  expect(restored.state().messages).toMatchObject({ queued: messages });
  let failures = 0;
  restored.activity.listen('message', () => failures++);
  for (const { device_id: device } of restored.sims.list('acme'))
    restored.sims.patch(device, { active: false });
  expect(failures).toBe(messages);
  expect(restored.invariants()).toMatchObject({ sound: true, broken: [] });
  void stayed.close();
  void restored.close();
});
