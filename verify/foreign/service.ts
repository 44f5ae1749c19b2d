/**
 * The foreign service: a right service that shares no code with the simulator. It is the reference
 * model with values drawn at random. If the document permits several answers, it can give others
 * than the simulator (`variation.ts`), and the harness must not fail it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { assumptionNames, declarationOf } from '#contract/assumptions.ts';
import { dayMs } from '#contract/time.ts';
import type { Assumptions } from '../model/answers.ts';
import { ReferenceModel } from '../model/reference-model.ts';
import type { ReferenceSim } from '../model/reference-phone.ts';
import { parseJson } from '../testkit/parse-json.ts';
import { type Variation, wordings } from './variation.ts';

export interface ForeignRequest {
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly headers: IncomingMessage['headers'];
  readonly address: string;
  readonly body: Buffer;
}

export interface ForeignReply {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const inboundTexts = ['Yes', 'Please call'];

/** The assumptions of all variations, unless they name others. */
const sharedAnswers = {
  ...Object.fromEntries(
    assumptionNames.map((name) => {
      const { answers, default: fallback = Object.keys(answers)[0] } = declarationOf(name);
      return [name, fallback];
    }),
  ),
  failsFrom: ['sent'],
  receivedQuery: 'ignore',
  numberCheck: 'shape',
  pollIntervalSeconds: 1,
} as unknown as Assumptions;

export function answersOf({ answers, wording = 'code_detail' }: Variation): Assumptions {
  return { ...sharedAnswers, replyTemplates: wordings[wording], ...answers };
}

export class ForeignService {
  readonly #variation: Variation;
  readonly #now: () => number;
  readonly #model: ReferenceModel;
  /** The flags of `conform` that describe the service's world, by name. */
  readonly flags: Readonly<Record<string, string>>;
  readonly contentType: string;

  /** `now`: the service's clock. */
  constructor(variation: Variation, now: () => number = Date.now) {
    this.#variation = variation;
    this.#now = now;
    this.contentType = variation.contentType ?? 'application/json';
    this.#model = new ReferenceModel(now(), answersOf(variation));
    if (variation.messagesFail)
      this.#model.outcomes = [{ to: '+*', ends: 'failed', in: 'sent', polls: 1 }];
    this.flags = this.#populate();
  }

  answer({ method, path, query, headers, address: clientIp, body }: ForeignRequest): ForeignReply {
    const model = this.#model;
    model.advanceTo(Math.max(this.#now(), model.nowMs));
    const { authorization, 'content-type': contentType } = headers;
    const forwardedFor = headers['x-forwarded-for']?.toString();
    const request = { method, path, query, authorization, contentType, clientIp, forwardedFor };
    // A SIM that asks for its tasks counts as an external device while it does.
    const askingSim = model.sims.find(({ deviceId }) => path.includes(deviceId));
    if (askingSim !== undefined) askingSim.polling = 'external';
    const expected = model.handle({ ...request, body: this.#read(body) });
    if (askingSim !== undefined) askingSim.polling = 'simulated';
    const { status, bytes = this.#written(expected.body, path) } = expected;
    expected.learn?.({ body: bytes });
    const text = status === 429 && this.#variation.statesFractions ? withDecimals(bytes) : bytes;
    return { status, body: text, headers: expected.headers };
  }

  /** Reads some values in another way than the simulator, and rewrites them for the model. */
  #read(body: Buffer): string {
    // A byte that is not UTF-8 becomes a character, and the body stays valid.
    const text = body.toString();
    const value = parseJson(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return text;
    const fields = value as Readonly<Record<string, unknown>>;
    const { from, from_number: alias, request_id: id, send_at: sendAt, to, ...others } = fields;
    const sender = from ?? alias;
    return JSON.stringify({
      ...others,
      to: withSevenDigits(to),
      // The model gets the sender as `from`, whichever field named it.
      from: withSevenDigits(sender),
      from_number: sender === from ? alias : undefined,
      request_id: id ?? undefined,
      send_at: typeof sendAt === 'string' ? this.#timeAsRead(sendAt) : sendAt,
    });
  }

  /** Accepts at most nine decimals and only capital letters, and reads 24:00 as the next day. */
  #timeAsRead(text: string): string {
    const spaced = this.#variation.readsSpaceInTime ? text.replace(/(?<=\d) (?=\d)/, 'T') : text;
    if (/[a-z]|\.\d{10}/.test(spaced)) return 'no time';
    const [, day] = /^(\d{4}-\d\d-\d\d)T24:00(?::00)?Z$/.exec(spaced) ?? [];
    return day === undefined ? spaced : new Date(Date.parse(day) + dayMs).toISOString();
  }

  /** An expected body as text. A value that passes takes the place of each test in the body. */
  #written(body: unknown, path: string): string {
    const { answersInChunks, upperCaseIds } = this.#variation;
    if (typeof body === 'string') return body;
    const text = JSON.stringify(body, drawn, answersInChunks ? 2 : 0);
    const isList = /received|tasks/.test(path);
    if (!upperCaseIds || isList) return text;
    return text.replace(/(?<="device_id":)"[^"]*"/, (id) => id.toUpperCase());
  }

  /** A world with everything that the harness's flags can describe. */
  #populate(): Readonly<Record<string, string>> {
    const [main, second, exhausted] = [this.#account(), this.#account(), this.#account(0)];
    const from = this.#sim('+12025550101', main);
    this.#sim('+12025550102', main);
    const inactive = this.#sim('+12025550103', main, false);
    const secondFrom = this.#sim('+12025550111', second);
    const exhaustedFrom = this.#sim('+12025550121', exhausted);
    for (const sim of [from, secondFrom, exhaustedFrom]) this.#receive(sim);
    this.#sim('+12025550190', undefined);
    return {
      'api-key': this.#key(main),
      'other-api-key': this.#key(main),
      'second-api-key': this.#key(second),
      'revoked-key': this.#key(main, true),
      'exhausted-api-key': this.#key(exhausted),
      from: from.number,
      'second-from': secondFrom.number,
      'exhausted-from': exhaustedFrom.number,
      'inactive-from': inactive.number,
      'foreign-from': secondFrom.number,
      'unknown-from': '+12025550199',
      to: '+12025550150',
      'device-id': from.deviceId,
    };
  }

  #account(quota = 100_000): string {
    const accountId = randomUUID();
    this.#model.accounts.push({ accountId, quota });
    return accountId;
  }

  #key(accountId: string, revoked = false): string {
    const key = `key-${randomUUID().replaceAll('-', '')}`;
    this.#model.keys.push({ keyId: randomUUID(), key, accountId, revoked });
    return key;
  }

  /** `accountId`: undefined for a number of the shared pool. */
  #sim(number: string, accountId: string | undefined, active = true): ReferenceSim {
    const identity = { deviceId: randomUUID(), number, accountId };
    const state = { active, connected: true, allowed: true, polling: 'simulated' as const };
    const sim = { ...identity, ...state, firstPollAtMs: 0, ableSinceMs: 0 };
    this.#model.sims.push(sim);
    return sim;
  }

  /** The newest message comes last; all arrive within milliseconds. */
  #receive({ deviceId, number: to, accountId = '' }: ReferenceSim): void {
    for (const [index, message] of inboundTexts.toReversed().entries()) {
      const inbound = { deviceId, accountId, from: `+1202555018${index}`, to, message };
      const receivedAtMs = Date.UTC(2026, 0, 2, 3, 4, 5) + index;
      this.#model.received.push({ messageId: randomUUID(), ...inbound, receivedAtMs });
    }
  }
}

/** Turns a number with fewer than seven digits into an invalid one. */
function withSevenDigits(number: unknown): unknown {
  return typeof number === 'string' && /^\+\d{1,6}$/.test(number) ? 'no number' : number;
}

/** A replacer for `JSON.stringify`: replaces a test in an expected body by a value that passes. */
function drawn(_: string, value: unknown): unknown {
  if (typeof value !== 'function') return value;
  return ['Refused.', ['Enter a valid value.'], randomUUID()].find((candidate) => value(candidate));
}

/** States the wait with decimals, which `Retry-After` rounds up. */
function withDecimals(body: string): string {
  return body.replace(/\d+(?= seconds)/, (seconds) => (Number(seconds) - 0.25).toFixed(3));
}
