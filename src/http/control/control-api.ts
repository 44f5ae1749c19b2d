/**
 * The control port: guard, route, translate. Everything it does is a method of the simulator.
 * Errors are `{"error": {"code", "message", "path"?}}`.
 */
import { isUtf8 } from 'node:buffer';
import { dashboardFile, isDashboardPath } from '../../dashboard/assets.ts';
import { LeverError } from '../../sim/lever-error.ts';
import type { Simulator } from '../../simulator.ts';
import { openApiRoute } from '../openapi/control-document.ts';
import type { ApiReply } from '../service/messages.ts';
import type { Intake } from '../transport/arriving-body.ts';
import {
  type ControlReply,
  type ControlRequest,
  type ControlService,
  defaultBodyLimitBytes,
  defaultDrainLimitBytes,
} from '../transport/transport.ts';
import { accountRoutes } from './accounts.ts';
import { activityRoutes } from './activity.ts';
import { behaviourRoutes } from './behaviour.ts';
import { clockRoutes } from './clock.ts';
import { faultRoutes } from './faults.ts';
import { createGuard, type GuardOptions, type Refusal } from './guard.ts';
import { journalRoutes } from './journal.ts';
import { errorReply, type Found, lookUpIn, shortened } from './look-up.ts';
import { messageRoutes } from './messages.ts';
import { type Call, type Route, WholeReply } from './route.ts';
import { serviceDocumentRoutes } from './service-document-route.ts';
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

/**
 * The handler, and what it takes of a body: whoever is refused gets none of it held, and a row no more than its own
 * limit.
 */
export function controlApi(simulator: Simulator, options: GuardOptions): Required<ControlService> {
  const guard = createGuard(options);
  const lookUp = lookUpIn(servedRoutes);

  const find = (request: ControlRequest): Found => {
    const refusal = guard(request);
    if (isDashboardPath(request.path) && refusal?.status !== 403) return { kind: 'page' };
    return refusal === undefined ? lookUp(request) : { kind: 'refused', reply: refused(refusal) };
  };
  return {
    control: (request) => {
      const found = find(request);
      if (found.kind === 'page') return page(request);
      if (found.kind === 'refused') return found.reply;
      return answer(found.route, simulator, request, found.ids);
    },
    intake: (request) => intakeOf(find(request)),
  };
}

function refused({ status, code, message }: Refusal): ApiReply {
  const headers = status === 401 ? { 'www-authenticate': 'Bearer' } : undefined;
  return errorReply(status, code, message, undefined, headers);
}

function intakeOf(found: Found): Intake {
  if (found.kind === 'refused') {
    return { limitBytes: 0, drainBytes: defaultDrainLimitBytes, over: found.reply };
  }
  const own = found.kind === 'row' ? found.route.bodyLimitBytes : undefined;
  const limitBytes = own ?? defaultBodyLimitBytes;
  const drainBytes = Math.max(limitBytes, defaultDrainLimitBytes);
  const message = `Request body exceeds ${limitBytes} bytes.`;
  return { limitBytes, drainBytes, over: errorReply(413, 'request_too_large', message) };
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
