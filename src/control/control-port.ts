/**
 * The control port's handler: asks the guard, finds the world and the operation, and lets `answer`
 * perform it. One process answers by `controlApi`; a fleet passes the request on to its shards.
 */
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { Intake } from '../http/transport/arriving-body.ts';
import {
  type ControlPort,
  type ControlReply,
  type ControlRequest,
  defaultBodyLimitBytes,
  defaultDrainLimitBytes,
} from '../http/transport/transport.ts';
import { addressIn, readdress } from '../worlds/address.ts';
import { unknownWorld } from '../worlds/hosted-world.ts';
import { servedOperations } from './documents.ts';
import { controlHeaders, createGuard, type GuardOptions, type Refusal } from './guard.ts';
import { createLookUp, errorReply, type Found, type FoundOperation, shortened } from './look-up.ts';
import { isPagePath, pageFile } from './page-files.ts';

export interface ControlAnswers {
  /** True if the world exists; renews its lifetime. */
  readonly hasWorld: (worldId: string) => boolean;
  /** Performs an operation. `worldId`: undefined if the request names no world. */
  readonly answer: (
    found: FoundOperation,
    request: ControlRequest,
    worldId: string | undefined,
  ) => ControlReply | Promise<ControlReply>;
  /** Hides API keys in a refusal, which may quote a path. */
  readonly withoutKeys: (reply: ControlReply) => ControlReply;
}

/** Handles a port. The transport asks `intake` before the body, and `control` for the reply. */
export function controlPort(options: GuardOptions, answers: ControlAnswers): Required<ControlPort> {
  const open = new Set(servedOperations.flatMap(({ isOpen, path }) => (isOpen ? [path] : [])));
  const guard = createGuard(options, (path) => open.has(path));
  const lookUp = createLookUp(servedOperations);

  const find = (request: ControlRequest): Found => {
    const refusal = guard(request);
    // The files of the page hold no secret: they need no token, and the page itself asks for it.
    if (isPagePath(request.path) && refusal?.status !== 403) return { kind: 'page' };
    return refusal === undefined
      ? lookUp(request)
      : { kind: 'refused', reply: refusalReply(refusal) };
  };
  const answerIn = (worldId: string | undefined, request: ControlRequest) => {
    const found = find(request);
    if (found.kind === 'page') return pageReply(request);
    if (found.kind === 'refused') return answers.withoutKeys(found.reply);
    return answers.answer(found, request, worldId);
  };
  return {
    headers: controlHeaders,
    control: (request) => {
      const address = addressIn(request.path);
      if (address === undefined) return answerIn(undefined, request);
      const refusal = guard(request);
      if (refusal !== undefined && refusal.status !== 401) return refusalReply(refusal);
      const requestInWorld = withPath(request, address.path);
      // Without the token, no reply may tell whether the world exists or renew its lifetime.
      if (refusal !== undefined) return answerIn(undefined, requestInWorld);
      return answers.hasWorld(address.worldId)
        ? answerIn(address.worldId, requestInWorld)
        : errorReply(404, 'not_found', unknownWorld(address.worldId).detail);
    },
    intake: (request) => {
      const address = addressIn(request.path);
      return intakeOf(find(address === undefined ? request : withPath(request, address.path)));
    },
  };
}

/** A request under `/w/<world_id>`, as if that world had its own control port. */
function withPath(request: ControlRequest, path: string): ControlRequest {
  return { ...readdress(request, path), headers: request.headers };
}

function refusalReply({ status, code, message }: Refusal): ApiReply {
  const headers = { 'www-authenticate': 'Bearer' };
  return errorReply(status, code, message, status === 401 ? { headers } : {});
}

/** How much of the body is read: nothing for a refusal, otherwise up to the operation's limit. */
function intakeOf(found: Found): Intake {
  if (found.kind === 'refused')
    return { limitBytes: 0, drainBytes: defaultDrainLimitBytes, tooLongReply: found.reply };
  const operationLimit = found.kind === 'operation' ? found.operation.bodyLimitBytes : undefined;
  const limitBytes = operationLimit ?? defaultBodyLimitBytes;
  const drainBytes = Math.max(limitBytes, defaultDrainLimitBytes);
  const message = `Request body exceeds ${limitBytes} bytes.`;
  return { limitBytes, drainBytes, tooLongReply: errorReply(413, 'request_too_large', message) };
}

async function pageReply(request: ControlRequest): Promise<ControlReply> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const message = 'this path takes GET, HEAD';
    return errorReply(405, 'method_not_allowed', message, { headers: { allow: 'GET, HEAD' } });
  }
  const file = await pageFile(request);
  return file ?? errorReply(404, 'not_found', `the page has no ${shortened(request.path)}`);
}
