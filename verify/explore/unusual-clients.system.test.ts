/** Clients that look unusual: correct ones pass, and the mistakes of a wrong one are found. */
import { expect, test } from 'vitest';
import { type ClientTools, explore, type FaultName } from '#explore/explore.ts';
import { runInProcess } from '#explore/in-process-run.ts';
import { isProblem, learn } from '#explore/learn.ts';

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

test('two workers that are given one job at the same moment make no retry of each other', async () => {
  const client = (tools: ClientTools) => Promise.all([send(tools, 'one'), send(tools, 'one')]);
  const { findings, explored } = await explore({ client, faults, depth: 1 });
  expect(findings).toEqual([]);
  expect(explored).toContain('exhaustive to depth 1');
  // The second worker comes once the first has its answer.
  const late = async (tools: ClientTools) => {
    const first = send(tools, 'one');
    await new Promise((resolve) => setTimeout(resolve, 100));
    await Promise.all([first, send(tools, 'one')]);
  };
  const found = (await explore({ client: late, faults, depth: 1 })).findings;
  expect(found.map(({ cause }) => cause)).toEqual(['CLIENT-1']);
});

test('two workers that wait for one 429 and come back in one millisecond are left alone', async () => {
  const client = async ({ fetch, baseUrl, apiKey, from }: ClientTools) => {
    let gateMs = 0;
    const worker = async () => {
      for (;;) {
        if (Date.now() < gateMs)
          await new Promise((resolve) => setTimeout(resolve, gateMs - Date.now()));
        const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ to: '+12025550123', from, message: 'Hi', request_id: 'job' }),
        });
        if (reply.ok) return;
        gateMs = Date.now() + Number(reply.headers.get('retry-after')) * 1_000;
      }
    };
    const first = worker();
    await new Promise((resolve) => setTimeout(resolve, 500));
    await Promise.all([first, worker()]);
  };
  const { findings, explored } = await explore({ client, faults: ['throttle'] });
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

interface Sending {
  readonly attempt: number;
  readonly from: string;
  readonly id: string;
}

/** A loop that keeps one message in mind; `bodyOf` and `pathOf` make each attempt of it. */
function retrying(
  bodyOf: (sending: Sending) => object,
  pathOf: (sending: Sending) => string = () => '/api/v1/sms/send/',
  type = 'application/json',
) {
  return async ({ fetch, baseUrl, apiKey, from }: ClientTools) => {
    const id = crypto.randomUUID();
    for (let attempt = 1; attempt <= 5; attempt++) {
      const sending = { attempt, from, id };
      const reply = await fetch(`${baseUrl}${pathOf(sending)}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': type },
        body: JSON.stringify({ to: '+12025550123', from, ...bodyOf(sending) }),
      }).catch(() => undefined);
      if (reply?.ok === true || (reply !== undefined && reply.status < 429 && reply.status >= 400))
        return;
      const seconds = Number(reply?.headers.get('retry-after') ?? 1);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }
    throw new Error('gave up');
  };
}

const hello = ({ id }: Sending) => ({ message: 'Hello', request_id: id });
test.each([
  [
    'fails over to its other number',
    retrying((sending) => ({
      ...hello(sending),
      ...(sending.attempt % 2 === 0 && { from: '+12025550102' }),
    })),
  ],
  [
    'fails over to the other endpoint',
    retrying(hello, ({ attempt }) => (attempt === 1 ? '/api/v1/sms/send/' : '/api/sms/send/')),
  ],
  [
    'writes the time of sending in two ways',
    retrying((sending) => ({
      ...hello(sending),
      send_at: `2030-01-01T00:00:00${sending.attempt === 1 ? 'Z' : '+00:00'}`,
    })),
  ],
])('a right client that %s is left alone', async (_, client) => {
  const { findings } = await explore({ client, faults, depth: 1 });
  expect(findings).toEqual([]);
});

test.each([
  ['a time', () => `now ${Date.now()}`],
  ['a code', () => `Code ${Math.random()}`],
])('a right client whose texts hold %s is left alone, a double send is found', async (_, text) => {
  const right = async (tools: ClientTools) => {
    for (const message of [text(), text()])
      await retrying(({ id }) => ({ message, request_id: id }))(tools);
  };
  expect((await explore({ client: right, faults, depth: 1 })).findings).toEqual([]);
  // Takes each retry for a message of its own.
  const wrong = retrying(({ attempt, id }) => ({
    message: text(),
    request_id: `${id} ${attempt}`,
  }));
  const { findings } = await explore({ client: wrong, faults: ['lost_response'], depth: 1 });
  expect(findings.map(({ cause }) => cause)).toContain('sent_twice');
  // After a refusal nothing was queued, so a new text under a new id loses nothing.
  const refused = { client: wrong, faults: ['throttle', 'device_inactive'], depth: 1 } as const;
  expect((await explore(refused)).findings).toEqual([]);
});

test.each([
  [
    'each send is refused',
    retrying(hello, undefined, 'text/plain'),
    'no message was accepted without any fault: 1 send answered 415',
  ],
  [
    'the path lacks its last slash',
    retrying(hello, () => '/api/v1/sms/send'),
    '1 request came to no known path: POST /api/v1/sms/send → 404: the path is /api/v1/sms/send/',
  ],
  [
    'only its sends lack the last slash',
    async (tools: ClientTools) => {
      const headers = { authorization: `Bearer ${tools.apiKey}` };
      await tools.fetch(`${tools.baseUrl}/api/v1/account/stats/`, { headers });
      await retrying(hello, () => '/api/v1/sms/send')(tools);
    },
    'no message was accepted without any fault: 1 request came to no known path: POST /api/v1/sms/send → 404',
  ],
])('a run without faults is no measure if %s', async (_, client, line) => {
  await expect(explore({ client, faults, depth: 1 })).rejects.toThrow(line);
});

test('a client that only reads, and asks for other paths, is explored', async () => {
  const client = async ({ fetch, baseUrl, apiKey }: ClientTools) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    for (const path of ['/health', '/api/v1/account/stats/'])
      await fetch(`${baseUrl}${path}`, { headers }).catch(() => undefined);
  };
  const { exitCode, notices } = await explore({ client, faults, depth: 1 });
  expect({ exitCode, notices }).toEqual({
    exitCode: 0,
    notices: ['without any fault, 1 request came to no known path: GET /health → 404'],
  });
});

test('a text that is sent twice without any fault is said first', async () => {
  const client = async (tools: ClientTools) => {
    for (const _ of ['first', 'second copy']) await retrying(hello)(tools);
    await retrying(({ id }) => ({ message: 'another', request_id: id }))(tools);
  };
  const { notices } = await explore({ client, faults: ['slow'], depth: 1 });
  expect(notices).toEqual([
    expect.stringMatching(/^without any fault, \+12025550123 is sent one text 2 times: /),
  ]);
});

/** Sends once; `onRefusal` is what it does after any other reply than 202. */
function once(onRefusal: (reply: Response) => void) {
  return async ({ fetch, baseUrl, apiKey, from }: ClientTools) => {
    const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ to: '+12025550123', from, message: 'Hello', request_id: 'one' }),
    });
    if (reply.status !== 202) onRefusal(reply);
  };
}

const refusals: readonly FaultName[] = ['device_inactive', 'quota'];
test.each(refusals)(
  '%s: to give up with an error is right, to say nothing is not',
  async (fault) => {
    const seen: unknown[] = [];
    const giving = once(({ status }) => {
      seen.push(status);
      throw new Error(`refused with ${status}`);
    });
    expect((await explore({ client: giving, faults: [fault], depth: 1 })).findings).toEqual([]);
    expect(seen).toEqual([fault === 'quota' ? 402 : 503]);
    const { findings } = await explore({ client: once(() => {}), faults: [fault], depth: 1 });
    expect(findings.map(({ cause }) => cause)).toEqual([
      fault === 'quota' ? 'not_accepted' : expect.stringMatching(/^(not_accepted|CLIENT-9)$/),
    ]);
  },
);

test.each(['+12025550123', '+1 (202) 555-0123'])(
  'a line of an intents file may hold the number as a person wrote it: %s',
  async (to) => {
    const client = async ({ intent, ...tools }: ClientTools) => {
      const line = { intent: 'one', to, from: tools.from, message: 'Hello', request_id: 'one' };
      let isRefused = false;
      await once(() => {
        isRefused = true;
      })({ intent, ...tools });
      intent(isRefused ? { ...line, reported: 'failed' } : line);
    };
    expect((await explore({ client, faults: ['quota'], depth: 1 })).findings).toEqual([]);
  },
);

test('another error than a documented refusal is no reason to end with an error', async () => {
  const client = once(({ status }) => {
    throw new Error(`refused with ${status}`);
  });
  const { findings } = await explore({ client, faults: ['unavailable'], depth: 1 });
  expect(findings.map(({ cause }) => cause)).toEqual(['failed']);
});

test('a documented refusal strikes sends alone', async () => {
  const client = async ({ fetch, baseUrl, apiKey }: ClientTools) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    await fetch(`${baseUrl}/api/v1/sms/received/`, { headers });
  };
  const { explored } = await explore({ client, faults: refusals, depth: 1 });
  expect(explored).toContain('explored 0 of 0 single faults');
});

test.each(refusals)(
  '%s strikes no replay, which the service answers before it looks at device and quota',
  async (fault) => {
    const client = async ({ fetch, baseUrl, apiKey, from, intent }: ClientTools) => {
      const line = { intent: 'one', to: '+12025550123', from, message: 'Hello', request_id: 'one' };
      for (let attempt = 1; attempt <= 5; attempt++) {
        const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify(line),
        }).catch(() => undefined);
        if (reply?.ok === true) return intent({ ...line, reported: 'accepted' });
        if (reply !== undefined) return intent({ ...line, reported: 'failed' });
      }
      throw new Error('gave up');
    };
    const { findings, explored } = await explore({ client, faults: ['lost_response', fault] });
    expect(findings).toEqual([]);
    expect(explored).toContain('pairs');
  },
);

/** Waits as long as a 429 says, but no longer than `mostSeconds`. */
function capped(mostSeconds: number) {
  return async ({ fetch, baseUrl, apiKey, from }: ClientTools) => {
    for (;;) {
      const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ to: '+12025550123', from, message: 'Hello', request_id: 'one' }),
      });
      if (reply.ok) return;
      const seconds = Math.min(Number(reply.headers.get('retry-after') ?? 1), mostSeconds);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }
  };
}

test('a client that waits no longer than 30 s is found where waiting costs nothing', async () => {
  const settings = { faults: ['throttle'], depth: 1 } as const;
  const { findings, explored } = await explore({ client: capped(30), ...settings });
  expect(findings.map(({ cause }) => cause)).toEqual(['CLIENT-1']);
  expect(explored).toContain('exhaustive to depth 1');
  expect((await explore({ client: capped(60), ...settings })).findings).toEqual([]);
});

test('shorter waits alone are not called exhaustive', async () => {
  const settings = { client: capped(30), faults: ['throttle'] } as const;
  const { explored } = await explore({ ...settings, depth: 2, throttleWaits: ['2s', '5s', '90s'] });
  expect(explored).toContain(
    'all to depth 2, with throttle waits of 2 s and 5 s alone (try --throttle-waits 60s)',
  );
  const long = await explore({ ...settings, depth: 2, throttleWaits: ['2s', '90s'] });
  expect(long.explored).toContain('exhaustive to depth 2');
});

test('the wait of a client is measured also if it retries at another endpoint under another id', async () => {
  const client = async ({ fetch, baseUrl, apiKey, from }: ClientTools) => {
    for (const path of ['v1/sms/send', 'external/send', 'sms/send']) {
      const reply = await fetch(`${baseUrl}/api/${path}/`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ to: '+12025550123', from, message: path, request_id: path }),
      });
      if (reply.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 3_000));
    }
  };
  const options = { client, settings: { seed: 1 }, slowMs: 3_000, timeoutMs: 600_000 };
  const learned = await learn((...run) => runInProcess(options, ...run), { faults: ['throttle'] });
  expect(isProblem(learned) ? learned.line : learned.throttleWaits).toEqual([60, 7]);
});

/** Sends one message, to +12025550123 unless it says otherwise; undefined without a reply. */
function post({ fetch, baseUrl, apiKey, from }: ClientTools, message: object) {
  return fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: '+12025550123', from, request_id: crypto.randomUUID(), ...message }),
  }).catch(() => undefined);
}

const seconds = (count: number) =>
  new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), count * 1_000));

async function causesOf(
  client: (tools: ClientTools) => Promise<unknown>,
  ...tried: readonly FaultName[]
) {
  const { findings } = await explore({ client, faults: tried, depth: 1 });
  return findings.map(({ cause }) => cause);
}

test('who gets a message under a fault alone is named, unless a line of the file means it', async () => {
  const copying = (isMeant: boolean) => async (tools: ClientTools) => {
    const line = { from: tools.from, message: 'Pump down' };
    const [duty, deputy] = [
      { ...line, intent: 'duty', to: '+12025550123', request_id: 'duty' },
      { ...line, intent: 'deputy', to: '+12025550188', request_id: 'deputy' },
    ];
    const { intent: _, ...first } = duty;
    const isAccepted = (await post(tools, first))?.status === 202;
    if (isMeant) tools.intent({ ...duty, reported: isAccepted ? 'accepted' : 'failed' });
    if (isAccepted) return;
    const { intent: _name, ...second } = deputy;
    await post(tools, second);
    if (isMeant) tools.intent({ ...deputy, reported: 'accepted' });
  };
  const faults = ['device_inactive'] as const;
  expect((await explore({ client: copying(true), faults, depth: 1 })).findings).toEqual([]);
  const { findings } = await explore({ client: copying(false), faults, depth: 1 });
  expect(findings[0]?.what).toMatch(
    /^a message went to a recipient who gets none without faults: 1 message to \+12025550188 was accepted, and 0 /,
  );
});

test.each([
  [1, ['CLIENT-1']],
  [120, []],
])('a new code after the wait of a 429, but at most %i s, makes %j', async (most, causes) => {
  const client = async (tools: ClientTools) => {
    for (;;) {
      const reply = await post(tools, { message: `Code ${Math.random()}` });
      if (reply?.status !== 429) return;
      await seconds(Math.min(most, Number(reply.headers.get('retry-after'))));
    }
  };
  expect(await causesOf(client, 'throttle')).toEqual(causes);
});

test('a text that is sent twice takes the place of no other that was refused', async () => {
  const client = async (tools: ClientTools) => {
    const texts = ['one', 'two'];
    // A text that differs in each run, beside those that do not.
    const code = { message: `Code ${Math.random()}`, to: '+12025550124', request_id: 'code' };
    while (!(await post(tools, code))?.ok) await seconds(120);
    for (const [index, message] of texts.entries()) {
      const reply = await post(tools, { message });
      if (reply?.status !== 429) continue;
      await seconds(Number(reply.headers.get('retry-after')));
      // The index has moved on.
      await post(tools, { message: texts[Math.min(index + 1, 1)] });
    }
  };
  expect(await causesOf(client, 'throttle')).toEqual(['CLIENT-9']);
});

test('where recipients differ in each run, a message to another one takes no place either', async () => {
  const client = async (tools: ClientTools) => {
    let owed = 0;
    for (const _ of ['first', 'second']) {
      const to = `+1202555${1_000 + Math.floor(Math.random() * 9_000)}`;
      const reply = await post(tools, { to, message: `To ${to}` });
      if (reply?.status === 429) owed++;
      else if (owed > 0) {
        owed--;
        await post(tools, { to, message: `To ${to}` });
      }
      await seconds(120);
    }
    if (owed > 0) throw new Error('not sent');
  };
  expect(await causesOf(client, 'throttle')).toContain('CLIENT-9');
});

test.each([
  [{}, 'quota', ['not_accepted']],
  [{ reported: 'unknown' }, 'quota', ['not_accepted']],
  [{ reported: 'failed' }, 'quota', []],
  [{ reported: 'unknown' }, 'lost_request', []],
] as const)('a file with %j excuses %s with %j', async (report, fault, causes) => {
  const client = async (tools: ClientTools) => {
    for (const to of ['+12025550123', '+12025550124']) {
      const line = { to, from: tools.from, message: 'Hello', request_id: to };
      const reply = await Promise.race([post(tools, line), seconds(10)]);
      tools.intent({ ...line, intent: to, ...(reply?.ok ? { reported: 'accepted' } : report) });
    }
  };
  expect(await causesOf(client, fault)).toEqual(causes);
});

test('a refusal whose body is garbled is one all the same', async () => {
  const client = async (tools: ClientTools) => {
    const texts = ['x'.repeat(1_601), 'first half', 'second half'];
    for (const message of texts) {
      const reply = await post(tools, { message });
      const isWhole = await reply?.json().catch(() => undefined);
      if (reply?.ok && isWhole === undefined) throw new Error('garbled');
    }
  };
  const { findings } = await explore({
    client,
    faults: ['malformed'],
    depth: 1,
    clientMayFail: true,
  });
  expect(findings).toEqual([]);
});
