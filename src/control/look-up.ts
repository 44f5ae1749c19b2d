/**
 * Finds the operation for a request by its method and path, or the error reply if there is none.
 * Every error of the control port is `{"error": {"code", "message", "path"?}}`.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { ControlRequest } from '../http/transport/transport.ts';
import type { Operation } from '../operations/define.ts';

export interface FoundOperation {
  readonly kind: 'operation';
  readonly operation: Operation;
  /** The id or name in the path, decoded; undefined if the path has none. */
  readonly id: string | undefined;
}

/** What a request is for; `page`: a file of the page. */
export type Found =
  | { readonly kind: 'page' }
  | { readonly kind: 'refused'; readonly reply: ApiReply }
  | FoundOperation;

type LookUp = (request: Pick<ControlRequest, 'method' | 'path'>) => Found;

/** Makes the function that finds an operation among these. */
export function createLookUp(operations: readonly Operation[]): LookUp {
  // A literal path comes before a variable one, so `messages/wait` is not read as a message id.
  const rows = [...operations]
    .sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
    .map((operation) => ({ operation, parts: operation.path.split('/') }));

  return (request) => {
    const parts = request.path.split('/');
    const rowsOfPath = rows.filter((row) => matches(row.parts, parts));
    if (rowsOfPath.length === 0) {
      const message = `the control API has no ${shortened(request.path)}`;
      return { kind: 'refused', reply: errorReply(404, 'not_found', message) };
    }
    const verb = request.method === 'HEAD' ? 'GET' : request.method;
    const row = rowsOfPath.find(({ operation }) => operation.verb === verb);
    return row === undefined
      ? { kind: 'refused', reply: wrongMethod(rowsOfPath.map(({ operation }) => operation)) }
      : { kind: 'operation', operation: row.operation, id: idIn(row.parts, parts) };
  };
}

/** `path`: the path of the mistake in the input. */
export function errorReply(
  status: number,
  code: string,
  message: string,
  { path, headers }: { path?: string | undefined; headers?: ApiReply['headers'] } = {},
): ApiReply {
  const body = JSON.stringify({ error: { code, message, path } });
  return { status, body, ...(headers !== undefined && { headers }) };
}

function wrongMethod(operations: readonly Operation[]): ApiReply {
  const allow = operations
    .flatMap(({ verb }) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb]))
    .join(', ');
  const message = `this path takes ${allow}`;
  return errorReply(405, 'method_not_allowed', message, { headers: { allow } });
}

function matches(pattern: readonly string[], parts: readonly string[]): boolean {
  if (pattern.length !== parts.length) return false;
  return pattern.every((expected, index) =>
    expected.startsWith('{') ? parts[index] !== '' : expected === parts[index],
  );
}

/** The variable part of the path. It is decoded, because it may be a name. */
function idIn(pattern: readonly string[], parts: readonly string[]): string | undefined {
  const id = parts.find((_, index) => pattern[index]?.startsWith('{') === true);
  try {
    return id === undefined ? undefined : decodeURIComponent(id);
  } catch {
    // Not an encoding: no object has such an id, so the operation answers 404.
    return id;
  }
}

/** A path for an error message. */
export function shortened(path: string): string {
  return path.length > 100 ? `${path.slice(0, 100)}...` : path;
}
