/**
 * Finds the operation for a request, or the error reply if there is none.
 */
import type { ApiReply } from '../http/service/messages.ts';
import type { ControlRequest } from '../http/transport/transport.ts';
import type { Operation } from '../operations/define.ts';

export interface FoundOperation {
  readonly kind: 'row';
  readonly operation: Operation;
  readonly id: string | undefined;
}
export type Found =
  | { readonly kind: 'page' }
  | { readonly kind: 'refused'; readonly reply: ApiReply }
  | FoundOperation;

type Asked = Pick<ControlRequest, 'method' | 'path'>;

export function lookUpIn(operations: readonly Operation[]): (request: Asked) => Found {
  // A literal path comes before a variable one, so `messages/wait` is not read as a message id.
  const table = [...operations]
    .sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
    .map((operation) => ({ operation, parts: operation.path.split('/') }));

  return (request) => {
    const parts = request.path.split('/');
    const rows = table.filter((row) => isPath(row.parts, parts));
    if (rows.length === 0) {
      const message = `the control API has no ${shortened(request.path)}`;
      return { kind: 'refused', reply: errorReply(404, 'not_found', message) };
    }
    const verb = request.method === 'HEAD' ? 'GET' : request.method;
    const row = rows.find(({ operation }) => operation.verb === verb);
    return row === undefined
      ? { kind: 'refused', reply: wrongMethod(rows.map(({ operation }) => operation)) }
      : { kind: 'row', operation: row.operation, id: idIn(row.parts, parts) };
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

function wrongMethod(operations: readonly Operation[]): ApiReply {
  const allow = operations
    .flatMap(({ verb }) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb]))
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

/** The variable part of the path, decoded: it may be a name. */
function idIn(pattern: readonly string[], parts: readonly string[]): string | undefined {
  const id = parts.find((_, at) => pattern[at]?.startsWith('{') === true);
  try {
    return id === undefined ? undefined : decodeURIComponent(id);
  } catch {
    return id;
  }
}

export function shortened(path: string): string {
  return path.length > 100 ? `${path.slice(0, 100)}...` : path;
}
