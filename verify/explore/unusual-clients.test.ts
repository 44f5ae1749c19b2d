/**
 * Clients that look unusual: correct ones pass, and the mistakes of a wrong one are found.
 */
import { expect, test } from 'vitest';
import { type ClientTools, explore, type FaultName } from '#explore/explore.ts';

const faults: readonly FaultName[] = ['throttle', 'refuse', 'lost_response'];

/** Patient: one request_id, and as many attempts as it takes. */
async function send(tools: ClientTools, message: string): Promise<void> {
  const { fetch, baseUrl, apiKey, from } = tools;
  const request_id = `id of ${message}`;
  for (let attempt = 1; attempt <= 5; attempt++) {
    const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from, message, request_id }),
    }).catch(() => undefined);
    if (reply?.ok === true) return;
    const seconds = Number(reply?.headers.get('retry-after') ?? 1);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
  throw new Error(`gave up ${message}`);
}

test('a right client that sends two messages at once is left alone', async () => {
  const client = (tools: ClientTools) => Promise.all([send(tools, 'one'), send(tools, 'two')]);
  const { findings, explored } = await explore({ client, faults });
  expect(findings).toEqual([]);
  expect(explored).toContain('exhaustive to depth 2');
});

test('a correct client whose texts differ in each run passes', async () => {
  let runs = 0;
  const client = async (tools: ClientTools) => {
    const run = ++runs;
    await send(tools, `one of run ${run}`);
    await send(tools, `two of run ${run}`);
  };
  const { findings, explored } = await explore({ client, faults });
  expect(findings).toEqual([]);
  expect(explored).toBe('explored 6 of 6 single faults and 27 of 27 pairs: exhaustive to depth 2');
});

test('a message that is not sent because a read failed is reported', async () => {
  let runs = 0;
  const client = async (tools: ClientTools) => {
    const run = ++runs;
    const headers = { authorization: `Bearer ${tools.apiKey}` };
    const url = `${tools.baseUrl}/api/v1/account/stats/`;
    const stats = await tools.fetch(url, { headers }).catch(() => undefined);
    if (stats !== undefined) await send(tools, `text of run ${run}`);
  };
  const { findings, skipped } = await explore({ client, faults });
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({
    cause: 'not_accepted',
    schedule: [{ at: { endpoint: 'stats', intent: 1, attempt: 1 }, fault: 'refuse' }],
  });
  // There a lost reply equals a refused request.
  expect(skipped).toBeGreaterThan(0);
});
