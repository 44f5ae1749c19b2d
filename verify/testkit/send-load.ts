/**
 * A load of sends for tests that end a process in the middle of it: many senders with one request
 * at a time each, and a ledger of acknowledged sends.
 */
import { routeOf } from '../../src/operations/table.ts';
import type { ReadyFile } from '../../src/simulator.ts';
import type { ServedProcess } from './served-process.ts';

export interface LoadPlan {
  readonly senders: number;
  /** `end` is called after this many answers; the senders continue until there is no reply. */
  readonly afterSends: number;
  /** The prefix of each send's request_id. */
  readonly round: string;
  readonly end: () => void;
}

export interface LoadReport {
  /** Body of the 202 by request_id. */
  readonly acknowledged: ReadonlyMap<string, string>;
  /** Answers other than a 202 or a closed connection. */
  readonly complaints: readonly string[];
}

export async function loadUntilGone(served: ServedProcess, plan: LoadPlan): Promise<LoadReport> {
  const acknowledged = new Map<string, string>();
  const complaints: string[] = [];
  let answered = 0;
  let isEnding = false;
  const sendOn = async (sender: number): Promise<void> => {
    for (let n = 0; ; n++) {
      const requestId = `${plan.round}-${sender}-${n}`;
      const reply = await send(served.ready, requestId).catch(() => undefined);
      if (reply === undefined && (isEnding || served.hasEnded)) return;
      if (reply?.status === 202) acknowledged.set(requestId, reply.body);
      else complaints.push(`${requestId} is answered ${reply?.status} ${reply?.body}`);
      answered++;
      if (isEnding || answered < plan.afterSends) continue;
      isEnding = true;
      plan.end();
    }
  };
  await Promise.all(Array.from({ length: plan.senders }, (_, sender) => sendOn(sender)));
  return { acknowledged, complaints };
}

/**
 * Checks that every acknowledged message exists once, and that its request_id is answered 200 with
 * the first bytes.
 */
export async function checkBooks(
  ready: ReadyFile,
  acknowledged: ReadonlyMap<string, string>,
): Promise<string[]> {
  const complaints: string[] = [];
  const found = await requestIds(ready);
  for (const [requestId, body] of acknowledged) {
    if (!found.has(requestId)) complaints.push(`${requestId} is lost`);
    const replay = await send(ready, requestId);
    if (replay.status !== 200 || replay.body !== body) {
      complaints.push(`${requestId} is answered ${replay.status} ${replay.body}`);
    }
  }
  for (const [requestId, times] of found) {
    if (times > 1) complaints.push(`${requestId} is there ${times} times`);
  }
  return complaints;
}

async function requestIds(ready: ReadyFile): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = cursor === '' ? '' : `&cursor=${cursor}`;
    const reply = await fetch(
      `${ready.control_url}${routeOf('messages.list').path}?limit=1000${query}`,
    );
    const page = (await reply.json()) as {
      messages: { request_id: string }[];
      next_cursor: string | null;
    };
    for (const { request_id: id } of page.messages) found.set(id, (found.get(id) ?? 0) + 1);
    cursor = page.next_cursor;
  }
  return found;
}

async function send(
  { base_url: baseUrl, accounts: [account] }: ReadyFile,
  requestId: string,
): Promise<{ status: number; body: string }> {
  const reply = await fetch(`${baseUrl}/api/v1/sms/send/`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${account?.api_key}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      to: '+12025550123',
      from: account?.sims[0]?.number,
      message: 'Hello',
      request_id: requestId,
    }),
  });
  return { status: reply.status, body: await reply.text() };
}
