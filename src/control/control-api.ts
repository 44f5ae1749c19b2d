/**
 * The control port: guard, find the operation, read the request, translate the result.
 * Errors are `{"error": {"code", "message", "path"?}}`.
 */
import { isUtf8 } from 'node:buffer';
import { dashboardFile, isDashboardPath } from '../dashboard/assets.ts';
import type { ApiReply } from '../http/service/messages.ts';
import type { Intake } from '../http/transport/arriving-body.ts';
import {
  type ControlReply,
  type ControlRequest,
  type ControlService,
  defaultBodyLimitBytes,
  defaultDrainLimitBytes,
} from '../http/transport/transport.ts';
import {
  needsInput,
  type Operation,
  performForPort,
  successStatus,
  takesQuery,
  WholeReply,
} from '../operations/define.ts';
import type { Live } from '../operations/live.ts';
import type { KeyTexts } from '../sim/key-texts.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import { addressIn, readdressed } from '../worlds/address.ts';
import { unknownWorld } from '../worlds/worlds.ts';
import { servedOperations } from './documents.ts';
import { controlHeaders, createGuard, type GuardOptions, type Refusal } from './guard.ts';
import { errorReply, type Found, type FoundOperation, lookUpIn, shortened } from './look-up.ts';

/** What answers on a control port. */
export interface ControlAnswers {
  /** True if the world exists; renews its lifetime. */
  readonly hasWorld: (worldId: string) => boolean;
  /** `worldId`: undefined for a request that names no world. */
  readonly answer: (
    found: FoundOperation,
    request: ControlRequest,
    worldId: string | undefined,
  ) => ControlReply | Promise<ControlReply>;
  /** Hides keys in a refusal, which may quote a path. */
  readonly withoutKeys: (reply: ControlReply) => ControlReply;
}

/** The control port of a server with its worlds. */
export function controlApi(simulator: Live, options: GuardOptions): Required<ControlService> {
  const textsOf = (live: Live) => live.simulation.world.keyRing.texts;
  return controlPort(options, {
    hasWorld: (worldId) => simulator.hosting.useAndRenew(worldId) !== undefined,
    answer: ({ operation, id }, request, worldId) => {
      const world = worldId === undefined ? undefined : simulator.hosting.get(worldId)?.simulator;
      const live = world ?? simulator;
      const texts = textsOf(live);
      const reply = answer(operation, live, request, id);
      if (operation.showsKeys === true) return reply;
      return reply instanceof Promise
        ? reply.then((late) => withoutKeys(late, texts))
        : withoutKeys(reply, texts);
    },
    withoutKeys: (reply) => withoutKeys(reply, textsOf(simulator)),
  });
}

/**
 * The control port's handler and its body limits: 0 for a caller that the guard refuses, otherwise
 * the limit of the operation.
 */
export function controlPort(
  options: GuardOptions,
  answers: ControlAnswers,
): Required<ControlService> {
  const guard = createGuard(options);
  const lookUp = lookUpIn(servedOperations);

  const find = (request: ControlRequest): Found => {
    const refusal = guard(request);
    if (isDashboardPath(request.path) && refusal?.status !== 403) return { kind: 'page' };
    return refusal === undefined ? lookUp(request) : { kind: 'refused', reply: refused(refusal) };
  };
  const answerIn = (worldId: string | undefined, request: ControlRequest) => {
    const found = find(request);
    if (found.kind === 'page') return page(request);
    if (found.kind === 'refused') return answers.withoutKeys(found.reply);
    return answers.answer(found, request, worldId);
  };
  return {
    headers: controlHeaders,
    control: (request) => {
      const address = addressIn(request.path);
      if (address === undefined) return answerIn(undefined, request);
      const refusal = guard(request);
      if (refusal !== undefined && refusal.status !== 401) return refused(refusal);
      const own = within(request, address.path);
      // Without the token, no reply tells whether the world exists, and none renews its lifetime.
      if (refusal !== undefined) return answerIn(undefined, own);
      return answers.hasWorld(address.worldId)
        ? answerIn(address.worldId, own)
        : errorReply(404, 'not_found', unknownWorld(address.worldId).detail);
    },
    intake: (request) => {
      const address = addressIn(request.path);
      const own = address === undefined ? request : within(request, address.path);
      return intakeOf(find(own));
    },
  };
}

/** A request under `/w/<world_id>`, as if that world had its own control port. */
function within(request: ControlRequest, path: string): ControlRequest {
  return { ...readdressed(request, path), headers: request.headers };
}

function refused({ status, code, message }: Refusal): ApiReply {
  const headers = status === 401 ? { 'www-authenticate': 'Bearer' } : undefined;
  return errorReply(status, code, message, undefined, headers);
}

function intakeOf(found: Found): Intake {
  if (found.kind === 'refused') {
    return { limitBytes: 0, drainBytes: defaultDrainLimitBytes, tooLongReply: found.reply };
  }
  const own = found.kind === 'row' ? found.operation.bodyLimitBytes : undefined;
  const limitBytes = own ?? defaultBodyLimitBytes;
  const drainBytes = Math.max(limitBytes, defaultDrainLimitBytes);
  const message = `Request body exceeds ${limitBytes} bytes.`;
  return { limitBytes, drainBytes, tooLongReply: errorReply(413, 'request_too_large', message) };
}

/**
 * The dashboard's files are served without a token: they hold no secret, and the page asks for the
 * token itself.
 */
async function page(request: ControlRequest): Promise<ControlReply> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const message = 'this path takes GET, HEAD';
    return errorReply(405, 'method_not_allowed', message, undefined, { allow: 'GET, HEAD' });
  }
  const file = await dashboardFile(request);
  return file ?? errorReply(404, 'not_found', `the page has no ${shortened(request.path)}`);
}

function answer(
  operation: Operation,
  simulator: Live,
  request: ControlRequest,
  id: string | undefined,
): ControlReply | Promise<ControlReply> {
  const success = (result: unknown): ControlReply | Promise<ControlReply> => {
    const reply = operation.reply as
      | ((result: unknown, live: Live, headers: ControlRequest['headers']) => unknown)
      | undefined;
    const value = reply === undefined ? result : reply(result, simulator, request.headers);
    if (value instanceof WholeReply) return value.reply;
    if (value instanceof Promise) return value.then((late: WholeReply) => late.reply);
    const body = operation.output === undefined ? '' : JSON.stringify(value);
    return { status: successStatus(operation), body };
  };
  try {
    const result = performForPort(operation, simulator, id, inputOf(operation, request));
    return result instanceof Promise ? result.then(success).catch(failure) : success(result);
  } catch (error) {
    return failure(error);
  }
}

/** AUTH-2: hides the keys that clients wrote into texts, such as a message or a path. */
function withoutKeys(reply: ControlReply, keys: KeyTexts): ControlReply {
  if ('body' in reply) return { ...reply, body: keys.hidden(reply.body) };
  if ('open' in reply || typeof reply.content !== 'string') return reply;
  return { ...reply, content: keys.hidden(reply.content) };
}

/** The query of a GET or DELETE, the body of all others. */
function inputOf(operation: Operation, request: ControlRequest): unknown {
  if (operation.input === undefined || operation.inputFrom !== undefined) return undefined;
  return takesQuery(operation) ? queryOf(request.query) : bodyOf(operation, request);
}

const statusOf: Readonly<Record<OperationRefused['code'], number>> = {
  invalid: 400,
  not_found: 404,
  timeout: 408,
  conflict: 409,
  unavailable: 503,
};

/** Rethrows a bug: the transport reports it and answers 500. */
export function failure(error: unknown): ControlReply {
  if (!(error instanceof OperationRefused)) throw error;
  return errorReply(statusOf[error.code], error.code, error.message, error.path);
}

/** Parses the body as JSON, whatever its declared type: `curl -d` does not declare JSON. */
function bodyOf(operation: Operation, { body }: ControlRequest): unknown {
  const isText = typeof body === 'string' || isUtf8(body);
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  if (text === '' && !needsInput(operation)) return undefined;
  if (text === '' || !isText) throw malformed('a JSON body is expected');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw malformed('the body is not valid JSON');
  }
}

function malformed(message: string): OperationRefused {
  return new OperationRefused('invalid', message);
}

function queryOf(query: string): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(result, name)) throw new OperationRefused('invalid', 'is given twice', name);
    Object.defineProperty(result, name, { value, enumerable: true });
  }
  return result;
}
