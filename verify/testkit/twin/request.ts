/** Requests of the service in the form that transports pass on. */
import type { ApiRequest } from '#contract/request-and-reply.ts';

export const sendPaths = {
  send: '/api/v1/sms/send/',
  dashboard_send: '/api/sms/send/',
  external_send: '/api/external/send/',
} as const;
export type SendPath = keyof typeof sendPaths;

/** A GET without a key and a body, with some fields replaced. */
export function requestTo(path: string, more: Partial<ApiRequest> = {}): ApiRequest {
  return {
    method: 'GET',
    path,
    query: '',
    authorization: undefined,
    contentType: undefined,
    clientIp: '192.0.2.1',
    forwardedFor: undefined,
    body: '',
    ...more,
  };
}

export function postTo(path: string, fields: unknown, more: Partial<ApiRequest> = {}): ApiRequest {
  const body = JSON.stringify(fields);
  return requestTo(path, { method: 'POST', contentType: 'application/json', body, ...more });
}

export function bearer(key: string | undefined): string {
  return `Bearer ${key}`;
}

export function requestText(request: ApiRequest): string {
  const { method, path, query, authorization, contentType, contentEncoding } = request;
  const body = typeof request.body === 'string' ? request.body : `${request.body.length} bytes`;
  const excerpt = body.length > 300 ? `${body.slice(0, 300)}… (${body.length})` : body;
  const type = contentType === undefined || contentType === 'application/json' ? '' : contentType;
  const head = [method, path, query, authorization?.slice(0, 20), type, contentEncoding];
  return [...head, excerpt].filter(Boolean).join(' ');
}
