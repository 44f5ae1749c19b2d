import { expect, test } from 'vitest';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../../simulator.ts';
import { mostWaits } from './wait-for-messages.ts';

test('with a manual clock, a wait runs simulated time forward until enough match', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  sendBy(simulator, 0, { request_id: 'a' });
  sendBy(simulator, 0, { request_id: 'b', to: '+12025550164' });
  const match = { status: 'delivered' } as const;
  const waited = await simulator.messages.wait({ match, timeout_ms: 120_000, advance: true });
  expect(waited.messages.map(({ request_id: id }) => id)).toEqual(['a']);
  const [message] = waited.messages;
  expect(message?.history.at(-1)?.at).toBe(simulator.clock.state().now);
  await simulator.close();
});

test('a wait in simulated time ends at exactly its timeout', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const input = { match: { to: '+12025550123' }, timeout_ms: 86_400_000, advance: true } as const;
  await expect(simulator.messages.wait(input)).rejects.toMatchObject({
    code: 'timeout',
    message: '0 of 1 messages matched within 86400000 simulated ms',
  });
  expect(simulator.clock.state().now).toBe('2026-01-02T00:00:00.000Z');
  await simulator.close();
});

test('a wait in real time ends with the send or the step that makes it match', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const two = simulator.messages.wait({ match: { text: 'Hello' }, count: 2, timeout_ms: 60_000 });
  sendBy(simulator, 0, {});
  sendBy(simulator, 1, {});
  expect((await two).count).toBe(2);
  const failed = simulator.messages.wait({ match: { status: 'failed' }, timeout_ms: 60_000 });
  const [first] = simulator.messages.list();
  simulator.messages.fail(first?.message_id ?? '');
  expect((await failed).messages).toHaveLength(1);
  expect(simulator.activity.hasAudience).toBe(false);
  await simulator.close();
});

test('an unmet wait in real time times out, and closing the simulator ends an open one', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  await expect(simulator.messages.wait({ timeout_ms: 1 })).rejects.toMatchObject({
    code: 'timeout',
  });
  const open = simulator.messages.wait({ timeout_ms: 60_000 });
  const ended = expect(open).rejects.toMatchObject({ code: 'conflict' });
  await simulator.close();
  await ended;
});

test('advance needs a manual clock', async () => {
  const simulator = new Simulator();
  await expect(simulator.messages.wait({ advance: true })).rejects.toMatchObject({
    code: 'invalid',
    path: 'advance',
  });
  await simulator.close();
});

test('waits in real time are bounded; one too many is refused, and the simulator closes with all others', async () => {
  const simulator = new Simulator({ clock: 'manual' });
  const wait = () => simulator.messages.wait({ timeout_ms: 60_000 });
  const open = Array.from({ length: mostWaits }, () => wait().catch(({ code }) => code));
  await expect(wait()).rejects.toMatchObject({
    code: 'conflict',
    message: 'there are 1000 waits already',
  });
  await simulator.close();
  expect(new Set(await Promise.all(open))).toEqual(new Set(['conflict']));
});
