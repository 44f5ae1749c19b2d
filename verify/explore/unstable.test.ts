/**
 * A failure that does not repeat hides nothing: the search goes on from the run that passed, and a
 * client that fails in another way each time is a finding.
 */
import { expect, test } from 'vitest';
import { type ClientTools, explore } from '#explore/explore.ts';

/** Patient, but sends under a new request_id from the third attempt on. `fail` ends a retry. */
async function send(tools: ClientTools, fail: () => Error | undefined): Promise<void> {
  const { fetch, baseUrl, apiKey, from } = tools;
  for (let attempt = 1; attempt <= 5; attempt++) {
    const request_id = attempt < 3 ? 'one' : 'another';
    const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from, message: 'hello', request_id }),
    });
    if (reply.ok) return;
    const error = fail();
    if (error !== undefined) throw error;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
  }
}

/** `failing`: the runs of the client, from 1, that end at the first failed request. */
function exploring(failing: readonly number[]) {
  let runs = 0;
  const client = (tools: ClientTools) => {
    const number = ++runs;
    return send(tools, () => (failing.includes(number) ? new Error('crashed') : undefined));
  };
  return explore({ client, faults: ['unavailable'] });
}

test('what lies behind a failure that does not repeat is explored', async () => {
  const stable = await exploring([]);
  const unstable = await exploring([3]);
  expect(stable.findings.map(({ schedule }) => schedule.length)).toEqual([2]);
  expect(unstable.findings.map(({ schedule }) => schedule)).toEqual(
    stable.findings.map(({ schedule }) => schedule),
  );
  expect(unstable.unstable.map(({ cause }) => cause)).toEqual(['failed']);
  expect(unstable.points).toBe(stable.points);
  expect(unstable).toMatchObject({ exitCode: 1, explored: stable.explored });
});

test('a failure that repeats after one of another kind is a finding', async () => {
  let runs = 0;
  const client = async (tools: ClientTools) => {
    const isThird = ++runs === 3;
    const { fetch, baseUrl, apiKey, from } = tools;
    const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from, message: 'hello', request_id: 'one' }),
    });
    if (!reply.ok && isThird) throw new Error('crashed');
  };
  const { findings, unstable } = await explore({ client, faults: ['unavailable'], depth: 1 });
  expect(findings.map(({ cause }) => cause)).toEqual(['not_accepted']);
  expect(unstable.map(({ cause }) => cause)).toEqual(['failed']);
});
