/**
 * The three sends: replay, fields, sender, device, quota.
 * Rules: SEND-1 to SEND-7, AUTH-4, AUTH-5, ERR-1, ERR-2, SVC-1, STATE-1. Assumes: gateOrder,
 * contentType, emptyBody, malformedJson, failedRequestId, replayScope, replayAcrossEndpoints,
 * replayDifferentBody, disconnectedSim, foreignNumber, poolBesideOwnSim, quotaUnit.
 */
import { dayMs } from '../../src/ledger/time-units.ts';
import type { Assumptions } from './assumptions.ts';
import { type Body, checkFields, given, segmentsOf, senderOf } from './reference-fields.ts';
import type { ReferenceSim } from './reference-phone.ts';
import {
  anyText,
  type Expected,
  invalid,
  isUuid,
  type ModelRequest,
  refusal,
} from './reference-replies.ts';
import { instantOf } from './reference-time.ts';
import type { ReferenceKey, ReferenceWorld } from './reference-world.ts';

/** A send whose body is an object. */
interface Send {
  readonly endpoint: string;
  readonly key: ReferenceKey;
  /** The fields that are refused. */
  readonly failing: readonly string[];
  readonly wanted: ReturnType<typeof checkFields>['wanted'];
  /** What another use of the `request_id` is compared with. */
  readonly asked: readonly unknown[];
}

/** A used `request_id`. */
interface Used {
  readonly by: Send;
  readonly atMs: number;
  readonly wasAccepted: boolean;
  /** The reply to the next use. */
  readonly again: () => Expected;
}

const notRegistered = 'from_number_not_found';
const notAllowed = 'from_number_access_deniedd';

export class ReferenceSends {
  readonly #world: ReferenceWorld;
  readonly #used: Used[] = [];

  constructor(world: ReferenceWorld) {
    this.#world = world;
  }

  /** `replayed`: the reply if the `request_id` was used before. `first`: the reply otherwise. */
  replyTo(
    request: ModelRequest,
    endpoint: string,
    key: ReferenceKey,
  ): { readonly replayed: Expected | undefined; readonly first: () => Expected } {
    const { assumptions, nowMs } = this.#world;
    const body = bodyOf(request, assumptions);
    if (!('fields' in body)) return { replayed: undefined, first: () => body };
    const { failing, wanted } = checkFields(body.fields, nowMs, assumptions);
    const send = { endpoint, key, failing, wanted, asked: askedFor(body.fields, assumptions) };
    const isValid = failing.length === 0;
    return {
      replayed:
        isValid || assumptions.gateOrder !== 'validate_first' ? this.#replay(send) : undefined,
      first: () =>
        isValid
          ? this.#valid(send)
          : this.#refused(send, () => invalid(this.#world.assumptions, failing)),
    };
  }

  /** SEND-4: the first reply, if it is at most 24 hours old. */
  #replay({ wanted, key, endpoint, asked }: Send): Expected | undefined {
    const { replayScope, replayAcrossEndpoints, replayDifferentBody, failedRequestId } =
      this.#world.assumptions;
    const uses = this.#used.filter(
      ({ by, atMs }) =>
        by.wanted.requestId === wanted.requestId &&
        this.#world.nowMs - atMs <= dayMs &&
        by.key.accountId === key.accountId &&
        (replayScope === 'account' || by.key === key) &&
        (replayAcrossEndpoints === 'shared' || by.endpoint === endpoint),
    );
    // An accepted send takes precedence over a refusal, and older uses over younger ones; `free`
    // ignores refusals.
    const burned = failedRequestId === 'burned' ? uses[0] : undefined;
    const first = uses.find((each) => each.wasAccepted) ?? burned;
    if (first === undefined) return undefined;
    const isSame = asked.every((value, i) => value === first.by.asked[i]);
    return isSame || !first.wasAccepted || replayDifferentBody === 'return_original'
      ? first.again()
      : this.#refusal(409, 'request_id_conflict');
  }

  /** A new send whose fields are valid: the sender, its device and the quota decide. */
  #valid(send: Send): Expected {
    const { key, wanted } = send;
    const { disconnectedSim, gateOrder } = this.#world.assumptions;
    const refused = (status: number, code: string) =>
      this.#refused(send, () => this.#refusal(status, code));
    const isSpent = this.#isQuotaSpent(key, wanted.message);
    if (isSpent && gateOrder === 'quota_before_sender') return refused(402, 'quota_exceeded');

    const named = this.#world.sims.find((each) => each.number === wanted.sender);
    if (named === undefined) return refused(403, notRegistered);
    const code = this.#senderRefusal(named, key);
    if (code !== undefined) return refused(403, code);
    const isAway = named.accountId !== undefined && !named.connected;
    if (!named.active || (isAway && disconnectedSim === 'device_inactive'))
      return refused(503, 'device_inactive');
    if (isAway && disconnectedSim === 'access_denied') return refused(403, notAllowed);
    if (isSpent) return refused(402, 'quota_exceeded');
    const sim = (isAway && disconnectedSim === 'pool' ? this.#poolFor(key) : undefined) ?? named;
    return this.#accepted(send, sim);
  }

  #accepted(send: Send, sim: ReferenceSim): Expected {
    const { key, wanted } = send;
    const { messages, nowMs: createdAtMs } = this.#world;
    const isNewId = (value: unknown) =>
      isUuid(value) && !messages.some((each) => each.messageId === value);
    return {
      status: 202,
      body: {
        status: 'queued',
        message_id: isNewId,
        request_id: wanted.requestId,
        device_id: sim.deviceId,
        from_number: sim.number,
        to: wanted.to,
        created_at: new Date(createdAtMs).toISOString(),
      },
      headers: {},
      learn: ({ body: bytes }) => {
        const reply = JSON.parse(bytes);
        this.#remember(send, true, () => ({ status: 200, body: reply, bytes, headers: {} }));
        messages.push({
          messageId: String(reply.message_id),
          accountId: key.accountId,
          deviceId: sim.deviceId,
          requestId: wanted.requestId,
          from: sim.number,
          to: wanted.to,
          text: wanted.message,
          segments: segmentsOf(wanted.message),
          createdAtMs,
          dueAtMs: wanted.sendAtMs ?? createdAtMs,
          fate: this.#world.scriptFor(wanted.to) ?? { ends: 'delivered', polls: 1 },
          status: 'queued',
          history: [{ status: 'queued', atMs: createdAtMs }],
          polls: 0,
        });
      },
    };
  }

  /** A refusal, which a later use of the `request_id` repeats if `failedRequestId` is `burned`. */
  #refused(send: Send, make: () => Expected): Expected {
    const { failedRequestId, errorBody, validationScope, replyTemplates } = this.#world.assumptions;
    const mayBurn =
      failedRequestId === 'burned' &&
      !send.failing.includes('request_id') &&
      this.#replay(send) === undefined;
    if (!mayBurn) return make();
    const learn = ({ body: bytes }: { readonly body: string }) =>
      this.#remember(send, false, () => {
        // The same refusal, or another form of it if one of these assumptions was switched
        // meanwhile.
        const { assumptions: now } = this.#world;
        const isSameForm =
          now.errorBody === errorBody &&
          now.replyTemplates === replyTemplates &&
          now.validationScope === validationScope;
        return isSameForm ? { ...make(), bytes } : make();
      });
    return { ...make(), learn };
  }

  #refusal(status: number, code: string): Expected {
    return refusal(this.#world.assumptions, status, code);
  }

  #remember(by: Send, wasAccepted: boolean, again: () => Expected): void {
    if (by.wanted.requestId === '') return;
    this.#used.push({ by, atMs: this.#world.nowMs, wasAccepted, again });
  }

  #isQuotaSpent({ accountId }: ReferenceKey, text: string): boolean {
    const quota = this.#world.quotaOf(accountId);
    const cost = this.#world.assumptions.quotaUnit === 'segments' ? segmentsOf(text) : 1;
    return quota !== null && this.#world.quotaUsed(accountId) + cost > quota;
  }

  #senderRefusal(sim: ReferenceSim, { accountId }: ReferenceKey): string | undefined {
    const { foreignNumber, poolBesideOwnSim } = this.#world.assumptions;
    const isPool = sim.accountId === undefined;
    if (!isPool && sim.accountId !== accountId)
      return foreignNumber === 'not_found' ? notRegistered : notAllowed;
    const isBesideOwn =
      isPool && poolBesideOwnSim !== 'allow' && this.#world.connectedSims(accountId).length > 0;
    return isBesideOwn || !sim.allowed ? notAllowed : undefined;
  }

  /** SVC-1: the pool's number for an account without a connected SIM. */
  #poolFor({ accountId }: ReferenceKey): ReferenceSim | undefined {
    if (this.#world.connectedSims(accountId).length > 0) return undefined;
    return this.#world.connectedSims(undefined).find(({ allowed }) => allowed);
  }
}

/** The fields of the body, or the reply if it is no JSON object. */
function bodyOf(
  { body, contentType, contentEncoding = '' }: ModelRequest,
  assumptions: Assumptions,
): { readonly fields: Body } | Expected {
  const declared = (contentType ?? '').split(';')[0]?.trim().toLowerCase();
  const isPlain = ['', 'identity'].includes(contentEncoding.toLowerCase());
  const isJson = declared === 'application/json' && isPlain;
  if (!isJson && assumptions.contentType !== 'ignore') return refusal(assumptions, 415);
  const isEmpty = body.length === 0 && assumptions.emptyBody === 'no_fields';
  const fields = isEmpty ? {} : parseObject(body);
  if (fields !== undefined) return { fields };
  return assumptions.malformedJson === 'detail_400'
    ? { status: 400, body: { detail: anyText }, headers: {} }
    : refusal(assumptions, 400);
}

function parseObject(body: string | Uint8Array): Body | undefined {
  try {
    const text =
      typeof body === 'string'
        ? body
        : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Body) : undefined;
  } catch {
    return undefined;
  }
}

function askedFor(body: Body, assumptions: Assumptions): readonly unknown[] {
  const [to, message, sendAt] = ['to', 'message', 'send_at'].map((name) =>
    given(body, name, assumptions),
  );
  const sender = senderOf(body, assumptions).value;
  return [to, sender, message, instantOf(sendAt, assumptions) ?? sendAt];
}
