/**
 * Calls operations of the control port. If the port requires a token, the first refusal makes the
 * page ask for it. The token is kept for this tab only.
 */
import { signal } from '@preact/signals';
import { routeOf } from './declared.ts';
import { worldPrefix } from './hosted-world.ts';
import type { OperationName, OperationTable, Reply } from './wire.ts';

/** A refusal of the control API, with its message. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
  readonly status: number;
  /** The path of the mistake in the input, if known. */
  readonly path: string | undefined;

  constructor(status: number, message: string, path: string | undefined) {
    super(message);
    this.status = status;
    this.path = path;
  }
}

/** True if the page needs a token and has none or a wrong one. */
export const tokenIsMissing = signal(false);

const tokenName = 'smstwin.control-token';

export function keepToken(token: string): void {
  sessionStorage.setItem(tokenName, token);
  tokenIsMissing.value = false;
}

export function controlToken(): string | null {
  return sessionStorage.getItem(tokenName);
}

/** Sends a request with the token; a reply with 401 makes the page ask. */
async function fetchControl(path: string, init: RequestInit): Promise<Response> {
  const token = controlToken();
  const headers = new Headers(init.headers);
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  const response = await fetch(path, { ...init, headers, cache: 'no-store' });
  if (response.status === 401) tokenIsMissing.value = true;
  return response;
}

type Input = Readonly<Record<string, unknown>>;

/** Calls an operation: with the id in its path, if it has one, and its input. */
export async function call<Name extends OperationName>(
  name: Name,
  ...args: [...OperationTable[Name]['id'], input?: Input]
): Promise<Reply<Name>> {
  const [first, second] = args as readonly unknown[];
  const hasId = typeof first === 'string' || typeof first === 'number';
  const id = hasId ? String(first) : '';
  const input = (hasId ? second : first) as Input | undefined;
  const { verb, path: own } = routeOf(name, id);
  const path = `${worldPrefix}${own}`;
  const isQuery = verb === 'GET' || verb === 'DELETE';
  const response = await fetchControl(isQuery ? `${path}${queryText(input ?? {})}` : path, {
    method: verb,
    ...(!isQuery &&
      input !== undefined && {
        body: JSON.stringify(input),
        headers: { 'content-type': 'application/json' },
      }),
  });
  const text = await response.text();
  const json: unknown = text === '' ? undefined : JSON.parse(text);
  if (response.ok) return json as Reply<Name>;
  const { error } = (json ?? {}) as { error?: { message?: string; path?: string } };
  throw new ControlError(response.status, error?.message ?? response.statusText, error?.path);
}

/** `?a=1&b=2`, without empty values. */
function queryText(values: Input): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '') parts.set(name, String(value));
  }
  const text = parts.toString();
  return text === '' ? '' : `?${text}`;
}

/** A readable message for an error. */
export function errorText(error: unknown): string {
  if (error instanceof ControlError) {
    return error.path === undefined ? error.message : `${error.path}: ${error.message}`;
  }
  if (error instanceof TypeError) return 'The simulator does not answer.';
  return error instanceof Error ? error.message : String(error);
}
