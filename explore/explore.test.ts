import { expect, test } from 'vitest';
import { UsageError } from '#io/command-error.ts';
import { type ExploreOptions, explore, NotExploredError } from './explore.ts';

/** `explore` as JavaScript can call it, without types. */
function exploreAny(options: unknown) {
  return explore(options as ExploreOptions);
}

const client = () => {};

test.each([
  [undefined, 'is missing: expected an object'],
  [{}, 'client: expected a function, which runs the client once'],
  [{ client, depth: 0 }, 'depth: expected at least 1; got 0'],
  [{ client, depth: 'x' }, 'depth: expected a number; got "x"'],
  [{ client, dept: 1 }, 'dept: this key is not known here'],
  [{ client, faults: [] }, 'faults: expected at least 1 entry; got a list of 0'],
  [{ client, slow: 'x' }, 'slow: expected a duration above 0, such as "3s", or milliseconds'],
  [{ client, timeout: 0 }, 'timeout: expected a duration above 0, such as "3s", or milliseconds'],
  [{ client, schedule: 'finding-1.json' }, 'schedule: expected a list; got "finding-1.json"'],
  [{ client, schedule: [] }, 'schedule: expected at least one fault; got a list of 0'],
  [{ client, settings: [] }, 'settings: expected an object'],
])('explore(%j) is refused with what is wrong', async (options, mistake) => {
  await expect(exploreAny(options)).rejects.toEqual(new UsageError(`explore(): ${mistake}`));
});

test('explore lists every mistake of its options', async () => {
  const refused = exploreAny({ client, depth: 11, faults: ['bogus'] });
  await expect(refused).rejects.toMatchObject({
    name: 'UsageError',
    lines: [
      'explore(): depth: expected at most 10; got 11',
      expect.stringMatching(/^explore\(\): faults\[0\]: expected one of "slow", .*; got "bogus"$/),
    ],
  });
});

test('a client that makes no request rejects with what it must do', async () => {
  const rejection = await explore({ client }).catch((error: unknown) => error);
  expect(rejection).toBeInstanceOf(NotExploredError);
  expect(rejection).toMatchObject({
    message: 'the client made no request to the service: it must use the fetch that it is given',
    exploration: { exitCode: 4, findings: [], explored: 'explored nothing' },
  });
});

test('a client that always fails rejects with its error', async () => {
  const failing = () => {
    throw new Error('no number');
  };
  const schedule = [{ at: { endpoint: 'send', intent: 1, attempt: 1 }, fault: 'hang' }] as const;
  const message = /^the client fails without any fault: it threw: no number\nError: no number\n/;
  await expect(explore({ client: failing })).rejects.toThrow(message);
  await expect(explore({ client: failing, schedule })).rejects.toThrow(message);
});

test('a client whose requests differ between runs rejects with the request that differs', async () => {
  let runs = 0;
  const differing: ExploreOptions['client'] = async ({ fetch, baseUrl, apiKey, from }) => {
    const messages = ++runs === 1 ? ['one', 'two'] : ['one'];
    for (const message of messages) {
      await fetch(`${baseUrl}/api/v1/sms/send/`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ to: '+12025550123', from, message, request_id: message }),
      });
    }
  };
  await expect(explore({ client: differing })).rejects.toThrow(
    'the client differs between runs without any fault: only one of two made the request send 2, attempt 1',
  );
});

test('CLIENT-3 a client whose texts change with the time meets its faults', async () => {
  let runs = 0;
  const client: ExploreOptions['client'] = async ({ fetch, baseUrl, apiKey, from }) => {
    // The first two runs are alike, as within one minute.
    const minute = Math.floor(runs++ / 2);
    for (const message of [`One at ${minute}`, `Two at ${minute}`]) {
      for (let isSent = false; !isSent; ) {
        const request = { to: '+12025550123', from, message, request_id: crypto.randomUUID() };
        const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify(request),
        });
        isSent = reply.ok;
      }
    }
  };
  const { findings } = await explore({ client, depth: 1, faults: ['unavailable'] });
  expect(findings.map(({ cause }) => cause)).toEqual(['CLIENT-3']);
});

test('a client that sleeps less than a millisecond until a deadline gets there', async () => {
  const sleeping: ExploreOptions['client'] = async ({ fetch, baseUrl, apiKey }) => {
    const untilMs = Date.now() + 2.5;
    while (Date.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 0.3));
    await fetch(`${baseUrl}/api/v1/account/stats/`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
  };
  const { exitCode } = await explore({ client: sleeping, depth: 1, faults: ['slow'] });
  expect(exitCode).toBe(0);
});

test('CLIENT-3 two equal messages at once under two ids stay two, also if one is given up', async () => {
  const client: ExploreOptions['client'] = async ({ fetch, baseUrl, apiKey, from }) => {
    const replies = await Promise.all(
      ['one', 'two'].map((id) =>
        fetch(`${baseUrl}/api/v1/sms/send/`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ to: '+12025550123', from, message: 'Hi', request_id: id }),
        }),
      ),
    );
    if (!replies.every(({ ok }) => ok)) throw new Error('not sent');
  };
  const explored = await explore({
    client,
    faults: ['unavailable'],
    clientMayFail: true,
    depth: 1,
  });
  expect(explored.findings).toEqual([]);
});

test.each([
  ['+12025550163', 0],
  ['+12025550123', 1],
])(
  'a message to %s is reported as failed after one look, which is %i findings',
  async (to, count) => {
    const looking: ExploreOptions['client'] = async ({ fetch, baseUrl, apiKey, from, intent }) => {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
      const message = { to, from, message: 'Hello', request_id: 'order-1' };
      const send = () =>
        fetch(`${baseUrl}/api/v1/sms/send/`, {
          method: 'POST',
          headers,
          body: JSON.stringify(message),
        })
          .then((reply) => reply.json() as Promise<{ message_id: string }>)
          .catch(() => undefined);
      const first = await send();
      const { message_id: id } = first ?? (await send()) ?? { message_id: '' };
      await fetch(`${baseUrl}/api/v1/sms/${id}/`, { headers });
      intent({
        intent: 'order-1',
        ...message,
        reported: first === undefined ? 'failed' : 'accepted',
      });
    };
    const at = { endpoint: 'send', intent: 1, attempt: 1 } as const;
    const schedule = [{ at, fault: 'lost_response' }] as const;
    const { findings } = await explore({ client: looking, schedule });
    expect(findings.map(({ cause }) => cause)).toEqual(Array(count).fill('CLIENT-10'));
  },
);
