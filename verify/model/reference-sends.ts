/**
 * The three sends of the reference model. The checks of a send are: replay, fields, sender, device,
 * quota.
 * Rules: SEND-1 to SEND-7, AUTH-4, AUTH-5, ERR-1, ERR-2, SVC-1, STATE-1. Assumes: gateOrder,
 * contentType, emptyBody, malformedJson, failedRequestId, replayScope, replayAcrossEndpoints,
 * replayDifferentBody, disconnectedSim, foreignNumber, poolBesideOwnSim, quotaUnit, errorBody,
 * validationScope, replyTemplates.
 */
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { dayMs } from '#contract/time.ts';
import { instantOf } from '#judging/service/validity.ts';
import { parseJson } from '../testkit/parse-json.ts';
import type { Assumptions } from './answers.ts';
import {
  type Body,
  type Content,
  checkFields,
  readField,
  segmentsOf,
  senderOf,
} from './reference-fields.ts';
import type { ReferenceSim } from './reference-phone.ts';
import { anyText, type Expected, invalid, isUuid, refusal, tooMany } from './reference-replies.ts';
import type { ReferenceKey, ReferenceWorld } from './reference-world.ts';

/** A send whose body is a JSON object. */
interface Send {
  readonly endpoint: string;
  readonly key: ReferenceKey;
  /** The names of the fields that fail validation. */
  readonly failing: readonly string[];
  readonly content: Content;
  /** The values that make another body under the same `request_id` (`replayDifferentBody`). */
  readonly compared: readonly unknown[];
}

interface UsedId {
  readonly send: Send;
  readonly atMs: number;
  readonly wasAccepted: boolean;
  readonly nextReply: () => Expected;
}

/** The status of refusals that a recipient scripts; the others are 403. */
const statusOf: Readonly<Record<string, number>> = { quota_exceeded: 402, device_inactive: 503 };
const numberNotFound = 'from_number_not_found';
const numberDenied = 'from_number_access_deniedd';

export class ReferenceSends {
  readonly #world: ReferenceWorld;
  readonly #used: UsedId[] = [];
  /** When each send that a scripted 429 has refused was first tried. */
  readonly #firstTries = new Map<string, number>();

  constructor(world: ReferenceWorld) {
    this.#world = world;
  }

  /** `replayed`: the reply if the `request_id` was used before. `toNewId`: the reply otherwise. */
  replyTo(
    request: ApiRequest,
    endpoint: string,
    key: ReferenceKey,
  ): { readonly replayed: Expected | undefined; readonly toNewId: () => Expected } {
    const { assumptions, nowMs } = this.#world;
    const body = bodyOf(request, assumptions);
    if (!('fields' in body)) return { replayed: undefined, toNewId: () => body };
    const { failing, content } = checkFields(body.fields, nowMs, assumptions);
    const compared = comparedValues(body.fields, assumptions);
    const send = { endpoint, key, failing, content, compared };
    const isValid = failing.length === 0;
    const mayReplay = isValid || assumptions.gateOrder !== 'validate_first';
    const toInvalid = () => invalid(this.#world.assumptions, failing);
    return {
      replayed: mayReplay ? this.#replay(send) : undefined,
      toNewId: () => (isValid ? this.#replyToValid(send) : this.#refuse(send, toInvalid)),
    };
  }

  /**
   * SEND-4: the reply to a `request_id` that was used at most 24 hours ago; undefined for another.
   */
  #replay({ content, key, endpoint, compared }: Send): Expected | undefined {
    const { replayScope, replayAcrossEndpoints, replayDifferentBody, failedRequestId } =
      this.#world.assumptions;
    const uses = this.#used.filter(
      ({ send, atMs }) =>
        send.content.requestId === content.requestId &&
        this.#world.nowMs - atMs <= dayMs &&
        send.key.accountId === key.accountId &&
        (replayScope === 'account' || send.key === key) &&
        (replayAcrossEndpoints === 'shared' || send.endpoint === endpoint),
    );
    // An accepted send takes precedence over a refusal, and older uses over younger ones; `free`
    // ignores refusals.
    const burned = failedRequestId === 'burned' ? uses[0] : undefined;
    const first = uses.find((each) => each.wasAccepted) ?? burned;
    if (first === undefined) return undefined;
    const isSameBody = compared.every((value, i) => value === first.send.compared[i]);
    return isSameBody || !first.wasAccepted || replayDifferentBody === 'return_original'
      ? first.nextReply()
      : this.#refusal(409, 'request_id_conflict');
  }

  /** A new send whose fields are valid: the sender, its device and the quota decide. */
  #replyToValid(send: Send): Expected {
    const { key, content } = send;
    const { disconnectedSim, gateOrder } = this.#world.assumptions;
    const refuse = (status: number, code: string) =>
      this.#refuse(send, () => this.#refusal(status, code));
    const isSpent = this.#isQuotaSpent(key, content.message);
    if (isSpent && gateOrder === 'quota_before_sender') return refuse(402, 'quota_exceeded');

    const sender = this.#world.sims.find((each) => each.number === content.sender);
    if (sender === undefined) return refuse(403, numberNotFound);
    const code = this.#senderRefusal(sender, key);
    if (code !== undefined) return refuse(403, code);
    const isDisconnected = sender.accountId !== undefined && !sender.connected;
    if (!sender.active || (isDisconnected && disconnectedSim === 'device_inactive'))
      return refuse(503, 'device_inactive');
    if (isDisconnected && disconnectedSim === 'access_denied') return refuse(403, numberDenied);
    if (isSpent) return refuse(402, 'quota_exceeded');
    const scripted = this.#world.outcomeFor(content.to)?.refuse;
    if (scripted === 'throttled') {
      const seconds = this.#scriptedWait(send);
      if (seconds > 0) return tooMany(seconds);
    } else if (scripted !== undefined) {
      return refuse(statusOf[scripted] ?? 403, scripted);
    }
    const mayUsePool = isDisconnected && disconnectedSim === 'pool';
    return this.#accept(send, (mayUsePool ? this.#poolFor(key) : undefined) ?? sender);
  }

  /** The seconds until a send to a recipient with a scripted 429 is accepted, or 0. */
  #scriptedWait({ key, content: { requestId, ...content } }: Send): number {
    const name = JSON.stringify([key.accountId, requestId === '' ? content : requestId]);
    const firstMs = this.#firstTries.get(name) ?? this.#world.nowMs;
    const waitMs = firstMs + 5_000 - this.#world.nowMs;
    if (waitMs > 0) this.#firstTries.set(name, firstMs);
    else this.#firstTries.delete(name);
    return Math.max(0, Math.ceil(waitMs / 1_000));
  }

  #accept(send: Send, sim: ReferenceSim): Expected {
    const { key, content } = send;
    const { messages, nowMs: createdAtMs } = this.#world;
    const isNewId = (value: unknown) =>
      isUuid(value) && !messages.some((each) => each.messageId === value);
    return {
      status: 202,
      body: {
        status: 'queued',
        message_id: isNewId,
        request_id: content.requestId,
        device_id: sim.deviceId,
        from_number: sim.number,
        to: content.to,
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
          requestId: content.requestId,
          from: sim.number,
          to: content.to,
          text: content.message,
          segments: segmentsOf(content.message),
          createdAtMs,
          dueAtMs: content.sendAtMs ?? createdAtMs,
          fate: this.#world.scriptFor(content.to) ?? { ends: 'delivered', polls: 1 },
          status: 'queued',
          history: [{ status: 'queued', atMs: createdAtMs }],
          polls: 0,
        });
      },
    };
  }

  /** A refusal, which a later use of the `request_id` repeats if `failedRequestId` is `burned`. */
  #refuse(send: Send, makeRefusal: () => Expected): Expected {
    const { failedRequestId, errorBody, validationScope, replyTemplates } = this.#world.assumptions;
    const mayBurn =
      failedRequestId === 'burned' &&
      !send.failing.includes('request_id') &&
      this.#replay(send) === undefined;
    if (!mayBurn) return makeRefusal();
    const learn = ({ body: bytes }: { readonly body: string }) =>
      this.#remember(send, false, () => {
        // The same bytes, unless one of the assumptions that word a refusal was switched.
        const { assumptions: now } = this.#world;
        const isSameForm =
          now.errorBody === errorBody &&
          now.replyTemplates === replyTemplates &&
          now.validationScope === validationScope;
        return isSameForm ? { ...makeRefusal(), bytes } : makeRefusal();
      });
    return { ...makeRefusal(), learn };
  }

  #refusal(status: number, code: string): Expected {
    return refusal(this.#world.assumptions, status, code);
  }

  #remember(send: Send, wasAccepted: boolean, nextReply: () => Expected): void {
    if (send.content.requestId === '') return;
    this.#used.push({ send, atMs: this.#world.nowMs, wasAccepted, nextReply });
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
      return foreignNumber === 'not_found' ? numberNotFound : numberDenied;
    const isBesideOwn =
      isPool && poolBesideOwnSim !== 'allow' && this.#world.connectedSims(accountId).length > 0;
    return isBesideOwn || !sim.allowed ? numberDenied : undefined;
  }

  /** SVC-1: the pool's number for an account without a connected SIM. */
  #poolFor({ accountId }: ReferenceKey): ReferenceSim | undefined {
    if (this.#world.connectedSims(accountId).length > 0) return undefined;
    return this.#world.connectedSims(undefined).find(({ allowed }) => allowed);
  }
}

/** The fields of the body, or the reply if it is not a JSON object. */
function bodyOf(
  { body, contentType, contentEncoding = '' }: ApiRequest,
  assumptions: Assumptions,
): { readonly fields: Body } | Expected {
  const declared = (contentType ?? '').split(';')[0]?.trim().toLowerCase();
  const isPlain = ['', 'identity'].includes(contentEncoding.toLowerCase());
  const isJson = declared === 'application/json' && isPlain;
  if (!isJson && assumptions.contentType !== 'ignore') return refusal(assumptions, 415);
  const isEmpty = body.length === 0 && assumptions.emptyBody === 'no_fields';
  const fields = isEmpty ? {} : parseJson(body);
  if (typeof fields === 'object' && fields !== null && !Array.isArray(fields))
    return { fields: fields as Body };
  return assumptions.malformedJson === 'detail_400'
    ? { status: 400, body: { detail: anyText }, headers: {} }
    : refusal(assumptions, 400);
}

/** The values that decide whether two bodies ask for the same message. */
function comparedValues(body: Body, assumptions: Assumptions): readonly unknown[] {
  const [to, message, sendAt] = ['to', 'message', 'send_at'].map((name) =>
    readField(body, name, assumptions),
  );
  const sender = senderOf(body, assumptions).value;
  return [to, sender, message, instantOf(sendAt, assumptions) ?? sendAt];
}
