/**
 * Calls operations of the control port. If the port requires a token, the first refusal makes the
 * page ask for it. The token is kept for this tab only.
 */
import { signal } from '@preact/signals';
import { routeOf } from './declared.ts';
import { worldPrefix } from './hosted-world.ts';
import type { Row } from './lists.ts';
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

/** The last answer of each address that was read: shown while the simulator does not answer. */
const lastAnswers = new Map<string, string>();
const mostAnswers = 100;
const longestAnswer = 300_000;

async function readText(address: string): Promise<{ status: number; text: string }> {
  try {
    const response = await fetchControl(address, { method: 'GET' });
    const text = await response.text();
    lastAnswers.delete(address);
    if (response.ok && text.length < longestAnswer) lastAnswers.set(address, text);
    for (const oldest of lastAnswers.keys()) {
      if (lastAnswers.size <= mostAnswers) break;
      lastAnswers.delete(oldest);
    }
    return { status: response.status, text };
  } catch (error) {
    const text = lastAnswers.get(address);
    if (text === undefined) throw error;
    return { status: 200, text };
  }
}

type Input = Readonly<Record<string, unknown>>;

type Arguments<Name extends OperationName> = [
  ...OperationTable[Name]['id'],
  input?: Input | undefined,
];

/** Calls an operation: with the id in its path, if it has one, and its input. */
export function call<Name extends OperationName>(
  name: Name,
  ...args: Arguments<Name>
): Promise<Reply<Name>> {
  return callIn(worldPrefix, name, ...args);
}

/** An operation by a name that is known only at run time. */
export const callAny = call as (name: OperationName, ...args: readonly unknown[]) => Promise<Row>;

/** The same in another world. */
export async function callIn<Name extends OperationName>(
  prefix: string,
  name: Name,
  ...args: Arguments<Name>
): Promise<Reply<Name>> {
  const [first, second] = args as readonly unknown[];
  const hasId = typeof first === 'string' || typeof first === 'number';
  const id = hasId ? String(first) : '';
  const input = (hasId ? second : first) as Input | undefined;
  const { verb, path: own } = routeOf(name, id);
  const path = `${prefix}${own}`;
  const isQuery = verb === 'GET' || verb === 'DELETE';
  const address = isQuery ? `${path}${queryText(input ?? {})}` : path;
  const { status, text } =
    verb === 'GET'
      ? await readText(address)
      : await sent(verb, address, isQuery ? undefined : input);
  const json = parsed(text);
  if (status < 400) return json as Reply<Name>;
  const { error } = (json ?? {}) as { error?: { message?: string; path?: string } };
  throw new ControlError(status, error?.message ?? `status ${status}`, error?.path);
}

/** A journal is not JSON. */
function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

async function sent(method: string, address: string, input: Input | undefined) {
  const response = await fetchControl(address, {
    method,
    ...(input !== undefined && {
      body: JSON.stringify(input),
      headers: { 'content-type': 'application/json' },
    }),
  });
  return { status: response.status, text: await response.text() };
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
