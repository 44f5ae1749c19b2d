/**
 * Creates messages before the load begins.
 */
import type { ApiRequest, Simulator } from '../../src/simulator.ts';

/** Sends `count` messages in process and returns their ids. */
export function preload(simulator: Simulator, count: number): string[] {
  const [account] = simulator.readyFile().accounts;
  const from = account?.sims[0]?.number;
  const request = sendRequest(account?.api_key ?? '', {
    to: '+12025550199',
    from,
    message: 'Preloaded by the bench.',
  });
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { status, body } = simulator.handle(request);
    if (status !== 202) throw new Error(`a preloaded send was answered ${status}: ${body}`);
    ids.push((JSON.parse(body) as { message_id: string }).message_id);
  }
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
