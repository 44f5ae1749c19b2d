/**
 * Calls operations of the control port: sends the token, keeps the last replies for an outage, and
 * notes what can be undone. The types of replies come from the declarations in `src/operations/`.
 * If the port requires a token, the first 401 makes the page ask for it (`page/main.tsx`); the
 * token is kept for this tab only.
 */
import { signal } from '@preact/signals';
import type { OperationName, OperationTable } from '#src/operations/table.ts';
import { type DeclaredOperation, Refusal } from './field.ts';
import type { Row } from './list-declaration.ts';
import { worldPrefix } from './route.ts';
import { readJson } from './value-texts.ts';

export type { OperationName };

export type Reply<Name extends OperationName> = OperationTable[Name]['reply'];

export type State = Reply<'simulator.state'>;
export type Account = Reply<'accounts.list'>['accounts'][number];
export type Status = keyof Account['messages'];
export type Sim = Reply<'sims.pool'>['sims'][number];
export type Message = Reply<'messages.get'>;
/** A request and its reply; a body is null if it was too long to keep. */
export type ShownExchange = Pick<Reply<'requests.get'>, 'request' | 'reply' | 'fault'>;
export type ServiceRequest = Reply<'requests.list'>['requests'][number];
export type Bucket = Reply<'limits.buckets'>['buckets'][number];
export type RefereeReport = Reply<'referee.report'>;

/** The bundler (`page/build/bundle.ts`) inserts the declarations of all operations here. */
declare const declaredOperations: Readonly<Record<OperationName, DeclaredOperation>>;

/** Every operation: its route, and the fields of those that the page shows. */
export const declared = declaredOperations;

export function routeOf(
  name: OperationName,
  id = '',
): { readonly verb: string; readonly path: string } {
  const [verb = '', path = ''] = declared[name].route.split(' ');
  return { verb, path: path.replace(/\{\w+\}/, encodeURIComponent(id)) };
}

// The token.

/** True if the page needs a token and has none or a wrong one. */
export const tokenIsMissing = signal(false);

const tokenKey = 'smstwin.control-token';

export function keepToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
}

export function controlToken(): string | null {
  return sessionStorage.getItem(tokenKey);
}

// Replies for an outage.

/** The last replies by address, oldest first: used while the simulator does not answer. */
const cachedReplies = new Map<string, string>();
const mostCachedReplies = 100;
const longestCachedReply = 300_000;

function cacheReply(address: string, { ok }: Response, text: string): void {
  cachedReplies.delete(address);
  if (ok && text.length < longestCachedReply) cachedReplies.set(address, text);
  const [oldest] = cachedReplies.keys();
  if (oldest !== undefined && cachedReplies.size > mostCachedReplies) cachedReplies.delete(oldest);
}

/** Sends a request with the token. A GET that gets no reply resolves to its last reply. */
async function fetchText(method: string, address: string, body: string | null) {
  const headers = new Headers(body === null ? {} : { 'content-type': 'application/json' });
  const token = controlToken();
  if (token !== null) headers.set('authorization', `Bearer ${token}`);
  try {
    const response = await fetch(address, { method, headers, body, cache: 'no-store' });
    const text = await response.text();
    if (response.status === 401) tokenIsMissing.value = true;
    if (method === 'GET') cacheReply(address, response, text);
    return { status: response.status, text };
  } catch (error) {
    const text = method === 'GET' ? cachedReplies.get(address) : undefined;
    if (text === undefined) throw error;
    return { status: 200, text };
  }
}

// Calls.

/** The id in the path, if the operation has one, and the input. */
export type Arguments<Name extends OperationName> = [
  ...OperationTable[Name]['id'],
  input?: Row | undefined,
];

/** Calls an operation in the shown world. Throws a Refusal if the reply is an error. */
export function call<Name extends OperationName>(
  name: Name,
  ...args: Arguments<Name>
): Promise<Reply<Name>> {
  return callIn(worldPrefix, name, ...args);
}

/** Calls an operation whose name is known only at run time. */
export const callAny = call as (name: OperationName, ...args: readonly unknown[]) => Promise<Row>;

/** Calls an operation in the world with this prefix of its paths (see `prefixOf`). */
export async function callIn<Name extends OperationName>(
  prefix: string,
  name: Name,
  ...args: Arguments<Name>
): Promise<Reply<Name>> {
  const { id, input } = idAndInput(args);
  const { verb, path } = routeOf(name, id);
  const takesQuery = verb === 'GET' || verb === 'DELETE';
  const query = takesQuery ? queryText(input ?? {}) : '';
  const body = takesQuery || input === undefined ? null : JSON.stringify(input);
  const { status, text } = await fetchText(verb, `${prefix}${path}${query}`, body);
  // A journal is text, not JSON: it is returned as it is.
  const reply = text === '' ? undefined : readJson(text);
  if (status < 400) {
    if (verb !== 'GET') noteWrite(prefix, name, input);
    return reply as Reply<Name>;
  }
  const { error } = (reply ?? {}) as { error?: { message?: string; path?: string } };
  throw new Refusal({ [error?.path ?? '']: error?.message ?? `status ${status}` });
}

function idAndInput(args: readonly unknown[]): { id: string; input: Row | undefined } {
  // Without an id, the input comes first.
  const [first, second] = args;
  const [id, input] = typeof first === 'object' ? ['', first] : [first, second];
  return { id: String(id ?? ''), input: input as Row | undefined };
}

/** `?a=1&b=2`, without empty values. */
function queryText(values: Row): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== '') query.set(name, String(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

// What can be undone.

/** When this page last changed something (`performance.now()`): resources read again after it. */
export const lastWriteMs = signal(Number.NEGATIVE_INFINITY);

/** The last operation of this page that can be undone, and its input. */
export const lastChange = signal<{ name: OperationName; input: Row } | undefined>(undefined);

/** Operations that journals record, but that have an undo of their own or none. */
const withoutUndo: readonly OperationName[] = [
  'clock.setMode',
  'referee.restart',
  'simulator.reset',
  'snapshots.restore',
];

function noteWrite(prefix: string, name: OperationName, input: Row = {}): void {
  lastWriteMs.value = performance.now();
  if (prefix !== worldPrefix) return;
  const canUndo = declared[name].isRecorded === true && !withoutUndo.includes(name);
  lastChange.value = canUndo ? { name, input } : undefined;
}

// Errors.

export function errorText(error: unknown): string {
  if (error instanceof TypeError) return 'The simulator does not answer.';
  return error instanceof Error ? error.message : String(error);
}
