/**
 * The faults `reset`, `hang` and `lost_request`, as a client meets them on each transport and in
 * process.
 */
import { afterEach, expect, test } from 'vitest';
import { kinds } from '#verify/testkit/transport-fixture.ts';
import { Simulator } from '../../simulator.ts';

const running: Simulator[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

function started(kind: 'reset' | 'hang' | 'lost_request'): {
  simulator: Simulator;
  send: RequestInit;
} {
  const simulator = new Simulator({ clock: 'manual' });
  running.push(simulator);
  simulator.faults.add({ when: { every: 1 }, fault: { kind } });
  const [account] = simulator.readyFile().accounts;
  const headers = {
    authorization: `Bearer ${account?.api_key}`,
    'content-type': 'application/json',
  };
  const from = account?.sims[0]?.number;
  const body = JSON.stringify({ to: '+12025550123', from, message: 'Hello' });
  return { simulator, send: { method: 'POST', headers, body } };
}

const path = '/api/v1/sms/send/';

test.each(kinds)('%s: a hanging request is handled, and answered by nothing', async (transport) => {
  const { simulator, send } = started('hang');
  const { baseUrl } = await simulator.listen({ transport });
  const leave = new AbortController();
  const reply = fetch(`${baseUrl}${path}`, { ...send, signal: leave.signal });
  await expect.poll(() => simulator.state().messages.total).toBe(1);
  leave.abort();
  await expect(reply).rejects.toThrow('aborted');
  expect(simulator.referee({ details: true }).details?.exchanges).toMatchObject([{ seen: false }]);
});

test.each(kinds)(
  '%s: a lost request is not handled, and waits until the client leaves',
  async (transport) => {
    const { simulator, send } = started('lost_request');
    const { baseUrl } = await simulator.listen({ transport });
    const leave = new AbortController();
    const ask = () => fetch(`${baseUrl}${path}`, { ...send, signal: leave.signal });
    const replies = [ask(), ask()];
    const exchanges = () => simulator.referee({ details: true }).details?.exchanges;
    await expect.poll(exchanges).toHaveLength(2);
    leave.abort();
    for (const reply of replies) await expect(reply).rejects.toThrow('aborted');
    expect(simulator.state().messages.total).toBe(0);
    expect(exchanges()).toMatchObject([{ seen: false, status: 503 }, { seen: false }]);
  },
);

test.each(kinds)('%s: a reset request is not handled', async (transport) => {
  const { simulator, send } = started('reset');
  const { baseUrl } = await simulator.listen({ transport });
  const error = await fetch(`${baseUrl}${path}`, send).catch(({ cause }) => cause.code);
  expect(error).toBe(transport === 'node' ? 'ECONNRESET' : 'UND_ERR_SOCKET');
  expect(simulator.state().messages.total).toBe(0);
});

test('in process a reset rejects as undici does', async () => {
  const { simulator, send } = started('reset');
  const error = await simulator.fetch(path, send).catch(({ cause }) => cause);
  expect(error).toMatchObject({ code: 'ECONNRESET', syscall: 'read' });
});

test('in process a hanging request ends when the simulator closes', async () => {
  const { simulator, send } = started('hang');
  const reply = simulator.fetch(path, send).catch(({ cause }) => cause.code);
  await expect.poll(() => simulator.state().messages.total).toBe(1);
  await simulator.close();
  expect(await reply).toBe('UND_ERR_SOCKET');
});
