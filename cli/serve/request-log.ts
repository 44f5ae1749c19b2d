/**
 * `--log`: one line per request of the service. Shows the key's id, never the key.
 */
import { foreignJson, foreignText } from '#io/foreign-text.ts';
import type { RequestView } from '#src/operations/requests/request-views.ts';

export type LogFormat = 'text' | 'json';

export function requestLine(format: LogFormat, request: RequestView): string {
  if (format === 'json') return `${foreignJson(JSON.stringify(request))}\n`;
  const { at, method, endpoint, status, code, account_id: account, duration_ms: ms } = request;
  const words = [at, method, endpoint ?? 'unknown', status, code ?? '-', account ?? 'anonymous'];
  return `${foreignText(words.join(' '))} ${ms.toFixed(3)}ms\n`;
}
