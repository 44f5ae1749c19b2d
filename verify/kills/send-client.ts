/**
 * A fast client for tests that kill a service under load: several connections with one send at a
 * time each. Keeps the exact bytes of replies.
 */
import { connect } from 'node:net';
import type { ReadyFile } from '../../src/simulator.ts';

export interface SendReply {
  readonly requestId: string;
  readonly status: number;
  readonly body: string;
}

interface SendPlan {
  readonly connections: number;
  /** The `request_id` of the next send; undefined ends this connection. */
  readonly nextId: () => string | undefined;
  readonly onReply: (reply: SendReply) => void;
}

/** Resolves when every connection has ended, by the plan or by the service. */
export async function sendAll(ready: ReadyFile, plan: SendPlan): Promise<void> {
  const makeRequest = requestMaker(ready);
  const port = Number(new URL(ready.base_url).port);
  await Promise.all(
    Array.from({ length: plan.connections }, () => sendOn(port, makeRequest, plan)),
  );
}

function sendOn(
  port: number,
  makeRequest: (requestId: string) => string,
  { nextId, onReply }: SendPlan,
): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let requestId: string | undefined;
    let arrived = '';
    const sendNext = () => {
      requestId = nextId();
      if (requestId === undefined) socket.end();
      else socket.write(makeRequest(requestId));
    };
    socket.on('connect', sendNext);
    socket.on('data', (bytes) => {
      arrived += bytes.toString('latin1');
      const reply = replyIn(arrived);
      if (reply === undefined || requestId === undefined) return;
      arrived = '';
      onReply({ requestId, ...reply });
      sendNext();
    });
    // A killed service resets its connections.
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });
}

function requestMaker({ accounts: [account] }: ReadyFile): (requestId: string) => string {
  const head =
    'POST /api/v1/sms/send/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
    `Authorization: Bearer ${account?.api_key}\r\nContent-Length: `;
  const from = account?.sims[0]?.number;
  return (requestId) => {
    const message = 'Your parcel will arrive today between 2 and 4 pm.';
    const send = { to: '+12025550123', from, message, request_id: requestId };
    const body = JSON.stringify(send);
    return `${head}${body.length}\r\n\r\n${body}`;
  };
}

/** Undefined while the reply is incomplete. */
function replyIn(bytes: string): Omit<SendReply, 'requestId'> | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [, status = '', length = ''] =
    /^HTTP\/1\.1 (\d+) [\s\S]*?\r\ncontent-length: (\d+)/i.exec(bytes.slice(0, end)) ?? [];
  const body = bytes.slice(end + 4);
  return body.length < Number(length) ? undefined : { status: Number(status), body };
}
