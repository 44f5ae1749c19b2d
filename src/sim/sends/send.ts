/**
 * Decides one send. Checks whether it is a replay, whether it is valid, whether the account may
 * send from the number, whether the device is active, whether quota is left, and whether the world
 * scripts a refusal. Then queues the message. `gateOrder` gives the order of these checks.
 * Rules: SVC-1, SVC-2, SEND-3 to SEND-7, AUTH-4, AUTH-5, ERR-1, ERR-2. Assumes: gateOrder,
 * replayDifferentBody, failedRequestId, foreignNumber, poolBesideOwnSim, disconnectedSim,
 * quotaUnit.
 */
import type { SendEndpoint } from '#contract/limits.ts';
import {
  type Account,
  type ApiKey,
  type Device,
  type FirstUse,
  Message,
} from '../accounts/account.ts';
import type { Registry } from '../accounts/registry.ts';
import type { ServiceError } from '../errors.ts';
import { messageBody } from '../store/message-view.ts';
import { unitsOf } from './quota.ts';
import { type SendFields, type SendRequest, validateSend } from './send-request.ts';

export interface SendCall {
  readonly account: Account;
  readonly key: ApiKey;
  readonly endpoint: SendEndpoint;
  readonly fields: SendFields;
}

export type SendDecision =
  | { readonly kind: 'queued'; readonly body: string }
  | { readonly kind: 'replayed'; readonly body: string }
  | ServiceError;

const quotaExceeded: ServiceError = { kind: 'quota_exceeded' };
const overloaded: ServiceError = { kind: 'overloaded' };

/** Decides one send, and queues the message if it is accepted. */
export function send(world: Registry, call: SendCall): SendDecision {
  const { assumptions } = world;
  if (assumptions.gateOrder !== 'validate_first') {
    const replay = findReplay(world, call);
    if (replay !== undefined) return replay;
  }
  const validation = validateSend(call.fields, assumptions, world.now());
  if (validation.kind === 'invalid_field') return refuse(world, call, validation);
  if (assumptions.gateOrder === 'validate_first') {
    const replay = findReplay(world, call);
    if (replay !== undefined) return replay;
  }
  const { request } = validation;
  const isQuotaFirst = assumptions.gateOrder === 'quota_before_sender';
  if (isQuotaFirst && isQuotaSpent(world, call.account, request))
    return refuse(world, call, quotaExceeded);
  const device = usableDevice(world, call.account, request.sender);
  if (!('deviceId' in device)) return refuse(world, call, device);
  if (!isQuotaFirst && isQuotaSpent(world, call.account, request))
    return refuse(world, call, quotaExceeded);
  const scripted = world.outcomes.refusalOf(request.to, () => sendKey(call, request), world.now());
  // A scripted 429 is temporary, so it does not use up the `request_id`.
  if (scripted?.kind === 'throttled') return scripted;
  if (scripted !== undefined) return refuse(world, call, scripted);
  return queue(world, call, request, device);
}

/** Equal for attempts at one send: by its `request_id`, otherwise by its content. */
function sendKey({ account }: SendCall, request: SendRequest): string {
  const { requestId, sender, message, sendAtMs } = request;
  const content = requestId === '' ? [sender, request.to, sendAtMs, message] : [requestId];
  return JSON.stringify([account.accountId, ...content]);
}

/** The decision for a repeated `request_id`; undefined if this is not a repeat. Changes nothing. */
export function findReplay(world: Registry, call: SendCall): SendDecision | undefined {
  const { assumptions } = world;
  const { fields } = call;
  if (fields.requestId === '') return undefined;
  const use = call.account.replays.find(fields.requestId, call.key, call.endpoint, assumptions);
  if (use === undefined) return undefined;
  if (!(use.outcome instanceof Message)) return use.outcome;
  if (assumptions.replayDifferentBody === 'conflict' && isDifferent(fields, use.outcome))
    return { kind: 'request_id_conflict' };
  return { kind: 'replayed', body: use.body };
}

/**
 * Finds a replay as `findReplay` does, but under `validate_first` a send with an invalid body is
 * none.
 */
export function findValidReplay(world: Registry, call: SendCall): SendDecision | undefined {
  if (world.assumptions.gateOrder === 'validate_first') {
    const validation = validateSend(call.fields, world.assumptions, world.now());
    if (validation.kind === 'invalid_field') return undefined;
  }
  return findReplay(world, call);
}

function queue(
  world: Registry,
  call: SendCall,
  request: SendRequest,
  device: Device,
): SendDecision {
  const { account } = call;
  const { requestId, to } = request;
  const message = world.acceptMessage({
    account,
    key: call.key,
    device,
    endpoint: call.endpoint,
    to,
    text: request.message,
    requestId,
    sendAtMs: request.sendAtMs,
  });
  if (message === undefined) return overloaded;
  if (request.sender !== device.number) message.sender = request.sender;
  // SEND-3: the state is `queued`, whatever name `heldStatus` shows later.
  const { messageId, createdAtMs } = message;
  const body = messageBody({ messageId, requestId, device, to, createdAtMs }, 'queued');
  if (requestId !== '') keepUse(call, createdAtMs, body, message);
  return { kind: 'queued', body };
}

/**
 * `failedRequestId: burned` stores the refusal under the id, provided that the id is valid and has
 * no first use yet: if validation comes first, a refused body must not displace the message that it
 * would replay (SEND-4).
 */
function refuse(world: Registry, call: SendCall, error: ServiceError): ServiceError {
  const { assumptions } = world;
  const { account, key, endpoint, fields } = call;
  const { requestId } = fields;
  if (assumptions.failedRequestId === 'free' || requestId === '') return error;
  const isInvalidId =
    error.kind === 'invalid_field' && error.failures.some(({ field }) => field === 'request_id');
  const isUsed = account.replays.find(requestId, key, endpoint, assumptions) !== undefined;
  if (!isInvalidId && !isUsed) keepUse(call, world.now(), '', error);
  return error;
}

function keepUse(
  { account, key, endpoint, fields: { requestId } }: SendCall,
  atMs: number,
  body: string,
  outcome: FirstUse['outcome'],
): void {
  account.replays.keep({ requestId, key, endpoint, atMs, body, outcome });
}

/** True if a replay's body differs from the first one. Compares instants, not their spellings. */
function isDifferent(fields: SendFields, first: Message): boolean {
  return (
    fields.to !== first.to ||
    fields.sender !== (first.sender || first.device.number) ||
    fields.message !== first.text ||
    (fields.send_at === undefined ? 0 : fields.sendAtMs) !== first.sendAtMs
  );
}

/** The device that sends from this number, or the refusal if the account may not use it now. */
function usableDevice(world: Registry, account: Account, number: string): Device | ServiceError {
  const { assumptions } = world;
  const device = world.deviceByNumber(number);
  if (device === undefined) return { kind: 'number_not_found' };
  if (device.account === undefined) {
    if (account.connectedSims.length > 0 && assumptions.poolBesideOwnSim !== 'allow')
      return { kind: 'number_access_denied' };
  } else if (device.account !== account) {
    return assumptions.foreignNumber === 'access_denied'
      ? { kind: 'number_access_denied' }
      : { kind: 'number_not_found' };
  }
  if (!device.allowed) return { kind: 'number_access_denied' };
  if (!device.active) return { kind: 'device_inactive' };
  return device.connected || device.account === undefined
    ? device
    : deviceInsteadOf(device, world, account);
}

/** The device for a send from an own SIM that is not connected, or the refusal. */
function deviceInsteadOf(device: Device, world: Registry, account: Account): Device | ServiceError {
  switch (world.assumptions.disconnectedSim) {
    case 'queues':
      return device;
    case 'device_inactive':
      return { kind: 'device_inactive' };
    case 'access_denied':
      return { kind: 'number_access_denied' };
    case 'pool': {
      // SVC-1: the pool serves an account that has no connected SIM of its own.
      if (account.connectedSims.length > 0) return device;
      return (
        world.pool.find(({ connected, active, allowed }) => connected && active && allowed) ??
        device
      );
    }
  }
}

function isQuotaSpent(world: Registry, account: Account, request: SendRequest): boolean {
  const quota = world.quotaOf(account);
  if (quota === 'unlimited') return false;
  const { assumptions } = world;
  const used = account.quota.used(world.now(), assumptions);
  return used + unitsOf(request.message, assumptions.quotaUnit) > quota;
}
