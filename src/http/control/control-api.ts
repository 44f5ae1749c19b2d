/**
 * The control port: guard, route, translate. Everything it does is a method of the simulator.
 * Errors are `{"error": {"code", "message", "path"?}}`.
 */
import { isUtf8 } from 'node:buffer';
import { dashboardFile, isDashboardPath } from '../../dashboard/assets.ts';
import { LeverError } from '../../sim/lever-error.ts';
import type { Simulator } from '../../simulator.ts';
import type { ApiReply } from '../messages.ts';
import type { ControlHandle, ControlReply, ControlRequest } from '../transport.ts';
import { accountRoutes } from './accounts.ts';
import { activityRoutes } from './activity.ts';
import { behaviourRoutes } from './behaviour.ts';
import { clockRoutes } from './clock.ts';
import { faultRoutes } from './faults.ts';
import { createGuard, type GuardOptions } from './guard.ts';
import { journalRoutes } from './journal.ts';
import { messageRoutes } from './messages.ts';
import { openApiRoute } from './openapi.ts';
import { type Call, type Route, WholeReply } from './route.ts';
import { serviceDocumentRoutes } from './service-document.ts';
import { simRoutes } from './sims.ts';
import { simulatorRoutes } from './simulator.ts';
import { snapshotRoutes } from './snapshot.ts';

/** Every row, in the order of the documentation. A literal path stands before a variable one. */
export const controlRoutes: readonly Route[] = [
  ...simulatorRoutes,
  ...clockRoutes,
  ...accountRoutes,
  ...simRoutes,
  ...messageRoutes,
  ...behaviourRoutes,
  ...faultRoutes,
  ...activityRoutes,
  ...journalRoutes,
  ...snapshotRoutes,
  ...serviceDocumentRoutes,
];

/** The rows, and the document that is made from them. The page is to stand here. */
const servedRoutes: readonly Route[] = [...controlRoutes, openApiRoute(controlRoutes)];

export function controlApi(simulator: Simulator, options: GuardOptions): ControlHandle {
  const guard = createGuard(options);
  const table = servedRoutes.map((route) => ({ route, parts: route.path.split('/') }));

  return (request) => {
    const refusal = guard(request);
    const isPage = isDashboardPath(request.path) && refusal?.status !== 403;
    if (isPage) return page(request);
    if (refusal !== undefined) {
      const { status, code, message } = refusal;
      const headers = status === 401 ? { 'www-authenticate': 'Bearer' } : undefined;
      return errorReply(status, code, message, undefined, headers);
    }
    const parts = request.path.split('/');
    const found = table.filter((row) => isPath(row.parts, parts));
    if (found.length === 0) {
      return errorReply(404, 'not_found', `the control API has no ${shortened(request.path)}`);
    }
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const row = found.find(({ route }) => route.method === method);
    if (row === undefined) return wrongMethod(found.map(({ route }) => route));
    return answer(row.route, simulator, request, idsOf(row.parts, parts));
  };
}

/** The dashboard, which asks for the token itself: its files hold no secret. */
async function page(request: ControlRequest): Promise<ControlReply> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const message = 'this path takes GET, HEAD';
    return errorReply(405, 'method_not_allowed', message, undefined, { allow: 'GET, HEAD' });
  }
  const file = await dashboardFile(request);
  return file ?? errorReply(404, 'not_found', `the page has no ${shortened(request.path)}`);
}

function answer(
  route: Route,
  simulator: Simulator,
  request: ControlRequest,
  ids: readonly string[],
): ControlReply | Promise<ControlReply> {
  try {
    const result = route.run({
      simulator,
      ids,
      query: queryOf(request.query),
      body: bodyOf(route, request),
      headers: request.headers,
    } satisfies Call);
    return result instanceof Promise
      ? result.then((value) => success(route, value), failure)
      : success(route, result);
  } catch (error) {
    return failure(error);
  }
}

function success(route: Route, result: unknown): ControlReply {
  if (result instanceof WholeReply) return result.reply;
  return { status: route.status, body: route.status === 204 ? '' : JSON.stringify(result) };
}

const statusOf: Readonly<Record<LeverError['code'], number>> = {
  invalid: 400,
  not_found: 404,
  timeout: 408,
  conflict: 409,
};

/** A bug is thrown on: the transport reports it and answers 500. */
function failure(error: unknown): ControlReply {
  if (!(error instanceof LeverError)) throw error;
  return errorReply(statusOf[error.code], error.code, error.message, error.path);
}

function errorReply(
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

/** The body as JSON, whatever type it is declared as: `curl -d` declares none of its own. */
function bodyOf(route: Route, { body }: ControlRequest): unknown {
  if (route.body === undefined) return undefined;
  const isText = typeof body === 'string' || isUtf8(body);
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  if (text === '' && route.bodyRequired === false) return undefined;
  if (text === '' || !isText) throw malformed('a JSON body is expected');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw malformed('the body is not valid JSON');
  }
}

function malformed(message: string): LeverError {
  return new LeverError('invalid', message);
}

function queryOf(query: string): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(result, name)) throw new LeverError('invalid', 'is given twice', name);
    Object.defineProperty(result, name, { value, enumerable: true });
  }
  return result;
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

function shortened(path: string): string {
  return path.length > 100 ? `${path.slice(0, 100)}...` : path;
}
