/**
 * The reason that `GET /control/messages/<id>/waiting` gives for a status, and its prediction: the
 * message keeps its status until just before `until` and changes it then.
 */
import { expect, test } from 'vitest';
import { sendBy, Twin } from '#verify/testkit/twin/twin.ts';
import type { SettingsInput } from '../../simulator.ts';

function messageIn(settings: SettingsInput, body: Readonly<Record<string, unknown>> = {}) {
  const { simulator, send } = new Twin(settings);
  const idOf = () => JSON.parse(send(body).body).message_id as string;
  const id = idOf();
  const sim = simulator.messages.get(id).device_id;
  return { simulator, id, sim, sendAnother: idOf, waiting: () => simulator.messages.waiting(id) };
}

const perPoll = { pollIntervalSeconds: 20 };
const predicted: readonly [string, SettingsInput, string][] = [
  ['each poll moves it', { assumptions: perPoll }, '+12025550123'],
  ['each step takes three polls', { assumptions: perPoll }, '+12025550166'],
  ['each message has its own pace', { assumptions: { progressPace: 'own_delay' } }, '+12025550123'],
  ['it fails while sent', { assumptions: perPoll }, '+12025550162'],
  ['a poll takes one message', { assumptions: { sendsPerPoll: 1 } }, '+12025550123'],
];

test.each(predicted)('STATE-2 the wait ends when it says, if %s', (_, settings, to) => {
  const { simulator, sim, sendAnother } = messageIn(settings, { to });
  const id = sendAnother();
  simulator.clock.advance('3s');
  const polledAt: Record<string, unknown> = {};
  for (let steps = 0; ; steps++) {
    const { waiting_for: reason, until } = simulator.messages.waiting(id);
    if (reason === 'nothing') break;
    const { status } = simulator.messages.get(id);
    expect(steps).toBeLessThan(4);
    const endsAt = Date.parse(until ?? '');
    simulator.clock.advance({ to: endsAt - 1 });
    expect(simulator.messages.get(id).status, `${reason} before ${until}`).toBe(status);
    simulator.clock.advance({ to: endsAt });
    expect(simulator.messages.get(id).status, `${reason} at ${until}`).not.toBe(status);
    polledAt[status] = until;
  }
  expect(Object.keys(polledAt).length).toBeGreaterThan(1);
  expect(simulator.sims.get(sim).queue_length).toBe(0);
});

test('SVC-3 a step by an operation postpones the next report by one interval', () => {
  const { simulator, id, waiting } = messageIn({ assumptions: perPoll });
  simulator.clock.advance('3s');
  simulator.messages.progress(id);
  const { waiting_for: reason, until } = waiting();
  expect(reason).toBe('progress');
  simulator.clock.advance({ to: Date.parse(until ?? '') - 1 });
  expect(simulator.messages.get(id).status).toBe('sending');
  simulator.clock.advance('1ms');
  expect(simulator.messages.get(id).status).toBe('sent');
});

test('STATE-3 a scripted recipient is named as the reason', () => {
  const { simulator, id, waiting } = messageIn({}, { to: '+12025550164' });
  expect(waiting().waiting_for).toBe('poll');
  simulator.clock.advance('1h');
  expect(waiting()).toEqual({
    waiting_for: 'scripted_fate',
    until: null,
    sentence: 'The recipient +12025550164 is scripted: its messages stay `sending` for ever.',
    would_move: ['messages.progress', 'messages.fail'],
  });
  simulator.messages.progress(id);
  expect(waiting().waiting_for).toBe('progress');
});

test('SEND-7 a hold lasts until send_at, and the poll after it picks the message up', () => {
  const { simulator, waiting } = messageIn({}, { send_at: '2026-01-01T01:00:00.000Z' });
  expect(waiting()).toMatchObject({ waiting_for: 'hold', until: '2026-01-01T01:00:00.000Z' });
  simulator.clock.advance({ to: '2026-01-01T01:00:00.000Z' });
  const { waiting_for: reason, until } = waiting();
  expect(reason).toBe('poll');
  simulator.clock.advance({ to: until ?? '' });
  expect(waiting().waiting_for).toBe('progress');
});

test('a SIM that is off or polls externally is the reason, and what turns it on would move it', () => {
  const { simulator, sim, waiting } = messageIn({ assumptions: { deactivation: 'stays_queued' } });
  const waitingAfter = (patch: Parameters<typeof simulator.sims.patch>[1]) => {
    simulator.sims.patch(sim, patch);
    const { waiting_for: reason, until, would_move: wouldMove } = waiting();
    return [reason, until, wouldMove.slice(0, -2)];
  };
  expect(waitingAfter({ connected: false })).toEqual(['sim_connected', null, ['sims.patch']]);
  expect(waitingAfter({ connected: true, active: false })).toEqual([
    'sim_active',
    null,
    ['sims.patch'],
  ]);
  const external = waitingAfter({ active: true, polling: 'external' });
  expect(external).toEqual(['external_poll', null, ['sims.poll', 'sims.patch']]);
  expect(waitingAfter({ polling: 'simulated' })).toEqual([
    'poll',
    expect.any(String),
    ['clock.advance', 'sims.poll'],
  ]);
});

test('messages that wait for a user are listed by SIM and reason, those of the oldest first', () => {
  const { simulator } = new Twin();
  const other = simulator.sims.all().find(({ number }) => number === '+12025550102');
  simulator.sims.patch(other?.device_id ?? '', { connected: false });
  sendBy(simulator, 0, {});
  const oldest = JSON.parse(sendBy(simulator, 0, { from: '+12025550102' }).body);
  simulator.clock.advance('5s');
  sendBy(simulator, 0, { from: '+12025550102', message: 'later' });
  for (const to of ['+12025550163', '+12025550164']) sendBy(simulator, 1, { to });
  const { standstills } = simulator.messages;
  expect(standstills()).toMatchObject([
    {
      waiting_for: 'sim_connected',
      from: '+12025550102',
      messages: 2,
      message_id: oldest.message_id,
      since: oldest.created_at,
    },
    { waiting_for: 'scripted_fate', from: '+12025550111', messages: 1 },
  ]);
  simulator.sims.patch(other?.device_id ?? '', { connected: true });
  simulator.clock.advance('2m');
  const scripted = { waiting_for: 'scripted_fate', from: '+12025550111', messages: 1 };
  // A sentence is true of each message of its group.
  expect(standstills()).toMatchObject([
    { ...scripted, to: '+12025550163', sentence: expect.stringContaining('stay `queued`') },
    { ...scripted, to: '+12025550164', sentence: expect.stringContaining('stay `sending`') },
  ]);
});
