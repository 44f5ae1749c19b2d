/**
 * The simulator's replies to a send and a read, so that every other server can return the same
 * bodies, and its OpenAPI document for servers that read one.
 */

import { type BenchCase, type Caller, cases } from '../../bench/scenarios/bench-case.ts';
import { sendRequest } from '../../bench/servers/preload.ts';
import { openApi } from '../../src/http/openapi/service-document.ts';
import { createSimulator } from '../../src/simulator.ts';

export type Body = Readonly<Record<string, unknown>>;

export interface SimulatorReplies {
  /** The first account's caller; the same in every process with the same seed. */
  readonly caller: Omit<Caller, 'messageIds'>;
  /** The body of a send, 202. */
  readonly queued: Body;
  /** The body of a read, 200. */
  readonly read: Body;
  readonly openApi: Body;
}

export const sendCase = caseOf('send');
export const readCase = caseOf('read');
const to = '+12025550199';

export async function simulatorReplies(): Promise<SimulatorReplies> {
  const simulator = await createSimulator(sendCase.settings);
  try {
    const [account] = simulator.readyFile().accounts;
    const caller = { apiKey: account?.api_key ?? '', from: account?.sims[0]?.number ?? '', to };
    const request = sendRequest(caller.apiKey, { to, from: caller.from, message: 'Hello.' });
    const queued = bodyOf(simulator.handle(request), 202);
    const path = `/api/v1/sms/${String(queued['message_id'])}/`;
    const read = bodyOf(simulator.handle({ ...request, method: 'GET', path, body: '' }), 200);
    const described = {
      assumptions: simulator.assumptions.get(),
      limits: simulator.limits.get(),
      baseUrl: 'http://127.0.0.1:8080',
    };
    return { caller, queued, read, openApi: openApi(described) };
  } finally {
    await simulator.close();
  }
}

function bodyOf(reply: { readonly status: number; readonly body: string }, status: number): Body {
  if (reply.status !== status) {
    throw new Error(`the simulator answered ${reply.status} for ${status}: ${reply.body}`);
  }
  return JSON.parse(reply.body) as Body;
}

function caseOf(name: string): BenchCase {
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`the bench has no case ${name}`);
  return found;
}
