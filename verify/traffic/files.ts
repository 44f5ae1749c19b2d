/** Writes traffic that is held in memory as each kind of file that the command reads. */
import type { TrafficExchange } from '#contract/exchange.ts';
import type { RecordedLine } from '#judging/evidence/recorded-line.ts';

/** The stated size of a body that was not recorded. */
const unrecordedBytes = 300;

/** The zero of the steady clock of the recorder's process. */
const startMs = Date.parse('2026-01-01T00:00:00Z');
const iso = (ms: number) => new Date(ms).toISOString();

/** A recording, as `smstwin record` writes it. */
export function asRecording(exchanges: readonly TrafficExchange[]): string {
  return exchanges.map((exchange) => `${JSON.stringify(lineOf(exchange))}\n`).join('');
}

function lineOf(exchange: TrafficExchange): RecordedLine {
  const { sentAt, answeredAt, method, path, query, headers, body, reply, isSeen } = exchange;
  return {
    sent: iso(sentAt),
    answered: iso(Math.ceil(answeredAt)),
    steady: { process: 'a', sent_ms: sentAt - startMs, answered_ms: answeredAt - startMs },
    client: 'address:0123456789ab',
    request: {
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers,
      ...(body !== undefined && body !== '' && { body }),
    },
    ...(reply !== undefined && {
      reply: {
        status: reply.status,
        headers: reply.headers,
        ...(reply.body === undefined ? { omitted: unrecordedBytes } : { body: reply.body }),
      },
    }),
    ...(!isSeen && { failure: 'the client closed the connection' }),
  };
}

/** A HAR file, as browsers and proxies write it. */
export function asHar(exchanges: readonly TrafficExchange[]): string {
  const pairs = (headers: Readonly<Record<string, string>>) =>
    Object.entries(headers).map(([name, value]) => ({ name, value }));
  const entries = exchanges.map(
    ({ sentAt, answeredAt, method, path, query, headers, body, reply, isSeen }) => ({
      startedDateTime: iso(sentAt),
      time: Math.max(0.4, answeredAt - sentAt),
      request: {
        method,
        url: `https://sms.example${path}${query === '' ? '' : `?${query}`}`,
        headers: pairs(headers),
        bodySize: body?.length ?? 0,
        ...(body && { postData: { mimeType: 'application/json', text: body } }),
      },
      response: {
        status: reply?.status ?? 0,
        headers: pairs(reply?.headers ?? {}),
        content: {
          size: reply?.body?.length ?? unrecordedBytes,
          mimeType: 'application/json',
          ...(reply?.body !== undefined && { text: reply.body }),
        },
        ...(!isSeen && reply !== undefined && { _error: 'net::ERR_CONNECTION_CLOSED' }),
      },
    }),
  );
  return JSON.stringify({
    log: { version: '1.2', creator: { name: 'test', version: '1' }, entries },
  });
}
