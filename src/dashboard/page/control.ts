/**
 * Calls operations of the control port. If the port requires a token, the first refusal makes the
 * page ask for it. The token is kept for this tab only.
 */
import { signal } from '@preact/signals';
import { type DeclaredOperation, Refusal, readJson } from './field.ts';
import type { Row } from './lists.ts';
import { worldPrefix } from './route.ts';
import type { OperationName, OperationTable, Reply } from './wire.ts';

/** The bundler inserts the operations as they are declared. */
declare const declaredOperations: Readonly<Record<OperationName, DeclaredOperation>>;

export const declared = declaredOperations;

/** The verb and path of an operation, with its id filled in. */
export function routeOf(
  name: OperationName,
  id = '',
): { readonly verb: string; readonly path: string } {
  const [verb = '', path = ''] = declared[name].route.split(' ');
  return { verb, path: path.replace(/\{\w+\}/, encodeURIComponent(id)) };
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

/** The last answer of each address that was read: shown while the simulator does not answer. */
const lastAnswers = new Map<string, string>();
const mostAnswers = 100;
const longestAnswer = 300_000;

function keepAnswer(address: string, { ok }: Response, text: string): void {
  lastAnswers.delete(address);
  if (ok && text.length < longestAnswer) lastAnswers.set(address, text);
  const [oldest] = lastAnswers.keys();
  if (oldest !== undefined && lastAnswers.size > mostAnswers) lastAnswers.delete(oldest);
}

/** Sends a request with the token; a reply with 401 makes the page ask for it. */
async function answerOf(method: string, address: string, body: string | null) {
  const headers = new Headers(body === null ? {} : { 'content-type': 'application/json' });
  const token = controlToken();
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  try {
    const response = await fetch(address, { method, headers, body, cache: 'no-store' });
    const text = await response.text();
    if (response.status === 401) tokenIsMissing.value = true;
    if (method === 'GET') keepAnswer(address, response, text);
    return { status: response.status, text };
  } catch (error) {
    const text = method === 'GET' ? lastAnswers.get(address) : undefined;
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
  const given = args as readonly unknown[];
  const [id, input] = typeof given[0] === 'object' ? ['', given[0]] : given;
  const { verb, path } = routeOf(name, String(id ?? ''));
  const isQuery = verb === 'GET' || verb === 'DELETE';
  const query = isQuery ? queryText((input ?? {}) as Input) : '';
  const body = isQuery || input === undefined ? null : JSON.stringify(input);
  const { status, text } = await answerOf(verb, `${prefix}${path}${query}`, body);
  // A journal is not JSON.
  const json = text === '' ? undefined : readJson(text);
  if (status < 400) return json as Reply<Name>;
  const { error } = (json ?? {}) as { error?: { message?: string; path?: string } };
  throw new Refusal({ [error?.path ?? '']: error?.message ?? `status ${status}` });
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
  if (error instanceof TypeError) return 'The simulator does not answer.';
  return error instanceof Error ? error.message : String(error);
}
