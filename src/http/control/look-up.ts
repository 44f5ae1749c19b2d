/**
 * Which row of the control API a request asks for, or why none.
 */
import type { ApiReply } from '../service/messages.ts';
import type { ControlRequest } from '../transport/transport.ts';
import type { Route } from './route.ts';

export type Found =
  | { readonly kind: 'page' }
  | { readonly kind: 'refused'; readonly reply: ApiReply }
  | { readonly kind: 'row'; readonly route: Route; readonly ids: readonly string[] };

export function lookUpIn(routes: readonly Route[]): (request: ControlRequest) => Found {
  const table = routes.map((route) => ({ route, parts: route.path.split('/') }));

  return (request) => {
    const parts = request.path.split('/');
    const rows = table.filter((row) => isPath(row.parts, parts));
    if (rows.length === 0) {
      const message = `the control API has no ${shortened(request.path)}`;
      return { kind: 'refused', reply: errorReply(404, 'not_found', message) };
    }
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const row = rows.find(({ route }) => route.method === method);
    return row === undefined
      ? { kind: 'refused', reply: wrongMethod(rows.map(({ route }) => route)) }
      : { kind: 'row', route: row.route, ids: idsOf(row.parts, parts) };
  };
}

/** The shape of every error of the control port. */
export function errorReply(
  status: number,
  code: string,
  message: string,
  path?: string,
  headers?: ApiReply['headers'],
): ApiReply {
  const body = JSON.stringify({
    error: { code, message, ...(path === undefined ? {} : { path }) },
  });
  return headers === undefined ? { status, body } : { status, body, headers };
}

function wrongMethod(routes: readonly Route[]): ApiReply {
  const allow = routes
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ');
  const message = `this path takes ${allow}`;
  return errorReply(405, 'method_not_allowed', message, undefined, { allow });
}

function isPath(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((part, at) => (part.startsWith('{') ? parts[at] !== '' : part === parts[at]))
  );
}

function idsOf(pattern: readonly string[], parts: readonly string[]): string[] {
  return parts.filter((_, at) => pattern[at]?.startsWith('{') === true);
}

export function shortened(path: string): string {
  return path.length > 100 ? `${path.slice(0, 100)}...` : path;
}
