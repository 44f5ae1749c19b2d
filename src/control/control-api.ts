/**
 * The control port of one process with its worlds: reads the input of an operation from the
 * request, performs it, and turns the result or the OperationRefused into a reply.
 */
import { isUtf8 } from 'node:buffer';
import type { ControlPort, ControlReply, ControlRequest } from '../http/transport/transport.ts';
import {
  needsInput,
  type Operation,
  successStatus,
  takesQuery,
  WholeReply,
} from '../operations/define.ts';
import { performForPort } from '../operations/perform.ts';
import type { RunningWorld } from '../operations/running-world.ts';
import { draining } from '../operations/worlds/simulator.ts';
import type { KeyTexts } from '../sim/accounts/key-texts.ts';
import { OperationRefused } from '../sim/errors.ts';
import { controlPort } from './control-port.ts';
import type { GuardOptions } from './guard.ts';
import { errorReply } from './look-up.ts';

export function controlApi(simulator: RunningWorld, options: GuardOptions): Required<ControlPort> {
  const textsOf = (live: RunningWorld) => live.simulation.world.keyRing.texts;
  return controlPort(options, {
    hasWorld: (worldId) => simulator.hostedWorlds.useAndRenew(worldId) !== undefined,
    answer: ({ operation, id }, request, worldId) => {
      const isRead = operation.verb === 'GET';
      if (simulator.isClosing && !isRead) return errorReply(503, 'unavailable', draining);
      const world =
        worldId === undefined ? undefined : simulator.hostedWorlds.get(worldId)?.simulator;
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

function answer(
  operation: Operation,
  live: RunningWorld,
  request: ControlRequest,
  id: string | undefined,
): ControlReply | Promise<ControlReply> {
  const success = (result: unknown) => successReply(operation, live, request, result);
  try {
    const result = performForPort(operation, live, id, inputOf(operation, request));
    return result instanceof Promise ? result.then(success).catch(errorToReply) : success(result);
  } catch (error) {
    return errorToReply(error);
  }
}

/** The result as JSON, unless the operation makes a reply of its own. */
function successReply(
  operation: Operation,
  live: RunningWorld,
  request: ControlRequest,
  result: unknown,
): ControlReply | Promise<ControlReply> {
  const toReply = operation.reply as
    | ((result: unknown, live: RunningWorld, headers: ControlRequest['headers']) => unknown)
    | undefined;
  const value = toReply === undefined ? result : toReply(result, live, request.headers);
  if (value instanceof WholeReply) return value.reply;
  if (value instanceof Promise) return value.then((late: WholeReply) => late.reply);
  const body = operation.output === undefined ? '' : JSON.stringify(value);
  return { status: successStatus(operation), body };
}

const statusOf: Readonly<Record<OperationRefused['code'], number>> = {
  invalid: 400,
  not_found: 404,
  timeout: 408,
  conflict: 409,
  unavailable: 503,
};

/** Rethrows all but an OperationRefused: a bug, which the transport reports and answers 500. */
export function errorToReply(error: unknown): ControlReply {
  if (!(error instanceof OperationRefused)) throw error;
  return errorReply(statusOf[error.code], error.code, error.message, { path: error.path });
}

/** AUTH-2: hides keys that clients have written into texts, such as a message or a path. */
function withoutKeys(reply: ControlReply, keys: KeyTexts): ControlReply {
  if ('body' in reply) return { ...reply, body: keys.hidden(reply.body) };
  if ('open' in reply || typeof reply.content !== 'string') return reply;
  return { ...reply, content: keys.hidden(reply.content) };
}

/** The query of a GET or DELETE, the body of any other request. */
function inputOf(operation: Operation, request: ControlRequest): unknown {
  if (operation.input === undefined || operation.inputFrom !== undefined) return undefined;
  return takesQuery(operation) ? queryOf(request.query) : bodyOf(operation, request);
}

/** Parses the body as JSON, whatever its declared type: `curl -d` does not declare JSON. */
function bodyOf(operation: Operation, { body }: ControlRequest): unknown {
  const isText = typeof body === 'string' || isUtf8(body);
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  if (text === '' && !needsInput(operation)) return undefined;
  if (text === '' || !isText) throw new OperationRefused('invalid', 'a JSON body is expected');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new OperationRefused('invalid', 'the body is not valid JSON');
  }
}

function queryOf(query: string): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(result, name)) throw new OperationRefused('invalid', 'is given twice', name);
    // An assignment to `__proto__` would not make a member.
    Object.defineProperty(result, name, { value, enumerable: true });
  }
  return result;
}
