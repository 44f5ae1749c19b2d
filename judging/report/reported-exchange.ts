/** The texts of a request and its reply in reports. */
import type { ReportedExchange } from '../evidence/reply.ts';

/** The status, headers and body of the reply, as they came. */
export function replyText({ failure, status, replyHeaders, replyBody }: ReportedExchange): string {
  if (failure !== undefined) return `no reply: ${failure}`;
  const headers = Object.entries(replyHeaders).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP ${status}`, ...headers, '', replyBody].join('\n');
}

/** The request as a shell command that reads the key from the environment. */
export function curlOf(exchange: ReportedExchange): string {
  const parts = ['curl -i'];
  if (exchange.method !== 'GET') parts.push(`-X ${exchange.method}`);
  parts.push(quoted(exchange.url));
  for (const [name, value] of Object.entries(exchange.requestHeaders)) {
    if (name !== 'authorization') parts.push(`-H ${quoted(`${name}: ${value}`)}`);
    else if (value.startsWith('Bearer ')) parts.push('-H "Authorization: Bearer $SMSTWIN_API_KEY"');
    else parts.push(`-H ${quoted(`Authorization: ${value}`)}`);
  }
  if (exchange.requestBody !== undefined)
    parts.push(`--data-binary ${quoted(exchange.requestBody)}`);
  return parts.join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
