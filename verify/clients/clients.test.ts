/**
 * Clients that meet ten 429s and come back a day later, on one clock with the service: every run
 * is the same to the millisecond, and takes less than a second of the processor, which other work
 * on the machine does not lengthen. `npm run test:clients` makes a thousand runs of each.
 */
import { fetch as undiciFetch } from 'undici';
import { expect } from 'vitest';
import { dayMs, secondMs } from '#contract/time.ts';
import type { Simulator } from '#src/api.ts';
import { test } from '#src/testing/vitest.ts';
import { runs } from '../testkit/runs.ts';
import { type Job, type NodeClient, sleep } from './client.ts';
import { deliver, silent } from './node/deliver.ts';
import { byAxios, byGot, byKy, byUndici, type Loop } from './node/library.ts';

const statusCodes = [429];
const retryPost = { limit: 20, statusCodes };

/**
 * Eleven sends at one a minute, with pauses so that each `Retry-After` differs; then two replays.
 */
const loop: Loop = (sendOf) => async (job) => {
  const send = sendOf(job);
  const sendOrder = async (n: number) => {
    const message = { to: '+12025550123', from: '+12025550101', message: 'Hello' };
    const reply = (await send({ ...message, intent: `order-${n}` })) as Record<string, unknown>;
    job.report({ ...message, intent: String(reply['message_id']) }, undefined, 'accepted');
  };
  for (let n = 0; n <= 10; n++) {
    await sendOrder(n);
    await sleep(n * 5 * secondMs);
  }
  await sleep(dayMs - 30 * 60 * secondMs);
  await sendOrder(10);
  await sleep(dayMs);
  await sendOrder(10);
};

function onFetch(fetch: typeof globalThis.fetch | undefined): Pick<NodeClient, 'run' | 'onSocket'> {
  const run = loop((job) => async (message) => {
    return (await deliver({ ...job, fetch: fetch ?? job.fetch }, message, silent))?.json;
  });
  return { run, onSocket: fetch !== undefined };
}

function waitingByInterceptor(client: Parameters<Parameters<typeof byAxios>[0]>[0]): void {
  client.interceptors.response.use(undefined, async (error) => {
    if (error.response?.status !== 429) throw error;
    await sleep(Number(error.response.headers['retry-after']) * secondMs);
    return client.request(error.config);
  });
}

const clients: Readonly<Record<string, Pick<NodeClient, 'run' | 'onSocket'>>> = {
  ky: byKy({ ...retryPost, methods: ['post'], afterStatusCodes: statusCodes }, { loop }),
  axios: byAxios(waitingByInterceptor, { loop }),
  fetch: onFetch(undefined),
  got: byGot({ ...retryPost, methods: ['POST'], maxRetryAfter: 120_000 }, { loop }),
  'axios over a socket': byAxios(waitingByInterceptor, { loop, onSocket: true }),
  undici: byUndici(
    { maxRetries: 20, methods: ['POST'], statusCodes, maxTimeout: 120_000 },
    { loop },
  ),
  'the fetch of undici': onFetch(undiciFetch as unknown as typeof globalThis.fetch),
  "Node's fetch": onFetch(fetch),
};

/** A job for one client; it notes the ids of the messages in the order of the replies. */
function jobOn(simulator: Simulator, messageIds: string[]): Job {
  return {
    baseUrl: simulator.baseUrl || 'http://sms.example',
    fetch: simulator.fetch,
    key: simulator.readyFile().accounts[0]?.api_key ?? '',
    messages: [],
    random: () => 0,
    report: ({ intent }) => void messageIds.push(intent),
    simulator,
  };
}

const perMinute = test.extend({ simulatorSettings: { clock: 'manual', limits: { send: 1 } } });

/** What the first run of the first client saw. */
let recorded: unknown;
for (const [name, { run, onSocket = false }] of Object.entries(clients)) {
  perMinute.for(Array.from({ length: runs(1) }, (_, n) => n + 1))(
    `ERR-3 ${name} waits out ten 429s and comes back after a day: run %i`,
    async (_run, { simulator, clientClock }) => {
      if (onSocket) await simulator.listen();
      const before = process.cpuUsage();
      const messageIds: string[] = [];
      await clientClock.until(() => run(jobOn(simulator, messageIds)));
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(1_000);
      const statuses = simulator.requests
        .list({ limit: 100 })
        .map(({ at, status }) => `${at} ${status}`);
      expect(statuses.filter((line) => line.endsWith('429'))).toHaveLength(10);
      expect(statuses.slice(0, 2).map((line) => line.split(' ')[1])).toEqual(['202', '200']);
      expect(messageIds.at(-2)).toBe(messageIds.at(-3));
      recorded ??= { messageIds, statuses };
      expect({ messageIds, statuses }).toEqual(recorded);
    },
  );
}
