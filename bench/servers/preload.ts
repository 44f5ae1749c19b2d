/**
 * Creates messages before the load begins: a service in use holds many, and its tables and its memory
 * are what they are only then.
 */
import type { ApiRequest, Simulator } from '../../src/simulator.ts';

/** Ids beyond these would only fill the memory of the generator. */
const mostIds = 100_000;

/** Sends `count` messages in process, without limits, and returns ids of messages of all ages. */
export function preload(simulator: Simulator, count: number): string[] {
  const [account] = simulator.readyFile().accounts;
  const from = account?.sims[0]?.number;
  const request = sendRequest(account?.api_key ?? '', {
    to: '+12025550199',
    from,
    message: 'Preloaded by the bench.',
  });
  const ids: string[] = [];
  const { send: limit } = simulator.limits.get();
  simulator.limits.patch({ send: null });
  const step = Math.ceil(count / mostIds);
  for (let n = 0; n < count; n++) {
    const { status, body } = simulator.handle(request);
    if (status !== 202) throw new Error(`a preloaded send was answered ${status}: ${body}`);
    if (n % step === 0) ids.push((JSON.parse(body) as { message_id: string }).message_id);
  }
  // A changed limit starts with full buckets.
  simulator.limits.patch({ send: limit });
  return ids;
}

/** A send in the form that `handle` accepts. */
export function sendRequest(apiKey: string, body: Readonly<Record<string, unknown>>): ApiRequest {
  return {
    method: 'POST',
    path: '/api/v1/sms/send/',
    query: '',
    authorization: `Bearer ${apiKey}`,
    contentType: 'application/json',
    clientIp: '127.0.0.1',
    forwardedFor: undefined,
    body: JSON.stringify(body),
  };
}
