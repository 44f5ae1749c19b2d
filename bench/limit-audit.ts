/**
 * Checks that a simulator enforces its rate limits under a load far above them. `ownAudit` starts
 * one in this process and runs in simulated time; `remoteAudit` loads a running one over HTTP. Both
 * count the requests in the simulator's record that passed, and read it before it overflows.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  documentedLimits,
  documentedLimitsPerMinute,
  type EndpointName,
  limitedEndpoints,
  limitWindowMs,
} from '#contract/limits.ts';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { servicePaths } from '#contract/routes.ts';
import { isoTime } from '#contract/time.ts';
import type { LimitOverrides } from '#src/config/world-schema.ts';
import type { RequestView } from '#src/operations/requests/request-views.ts';
import { Rng } from '#src/sim/random.ts';
import { Simulator } from '#src/simulator.ts';
import { sendTemplate } from './load/workload.ts';
import { type AuditEntry, type AuditRun, auditRun } from './recount.ts';
import {
  boundedClient,
  type ControlClient,
  type RemoteAccount,
  unusedName,
} from './servers/running-service.ts';

export interface OwnAuditOptions {
  readonly accounts: number;
  readonly minutes: number;
  /** Planted limits; the audit always applies those of the document. */
  readonly limits: LimitOverrides;
  readonly onProgress: (line: string, step: string) => void;
}

/** The rate of the load, as a multiple of the limits. */
const overload = 3;
/** The requests of each account between two calls without a key. */
const requestsPerAnonymous = 4;
const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'];
/** Below the thousand requests that the record keeps. */
const readEvery = 500;
const startMs = Date.parse('2026-01-01T00:00:00.000Z');
const longestStepMs = 40;
/** The requests between two lines of progress. */
const progressEvery = 5_000;

const secondsOf = (ms: number) => Math.round(ms / 1_000);

/** Each endpoint occurs in proportion to its limit, which is a multiple of 60. */
const weightedEndpoints = limitedEndpoints.flatMap((name) =>
  Array.from({ length: documentedLimits[name] / 60 }, () => name),
);
const allLimits = limitedEndpoints.reduce((sum, name) => sum + documentedLimits[name], 0);

interface User {
  readonly accountId: string;
  readonly authorizations: readonly string[];
  readonly from: string;
  readonly deviceId: string;
}

/**
 * Accounts with two keys each call from four addresses, at three times the limit of every limited
 * endpoint; other callers have no key.
 */
export async function ownAudit(options: OwnAuditOptions): Promise<AuditRun> {
  const simulator = new Simulator({
    clock: 'manual',
    startTime: startMs,
    limits: options.limits,
    world: { accounts: [] },
    assumptions: { monthlyQuota: 'unlimited' },
  });
  try {
    return new OwnLoad(simulator, options.accounts).run(options);
  } finally {
    await simulator.close();
  }
}

/** The load of `ownAudit` on its simulator, and the record of what passed. */
class OwnLoad {
  readonly #simulator: Simulator;
  readonly #users: readonly User[];
  readonly #rng = Rng.stream(1, 'limit-audit');
  readonly #record = new RecordReader();
  #sent = 0;

  constructor(simulator: Simulator, accounts: number) {
    this.#simulator = simulator;
    this.#users = Array.from({ length: accounts }, (_, n) => createAccount(simulator, n));
  }

  run({ minutes, onProgress }: OwnAuditOptions): AuditRun {
    const realStartMs = performance.now();
    const endMs = startMs + minutes * limitWindowMs;
    const perMs = (overload * this.#users.length * allLimits) / limitWindowMs;
    /** The requests that are due, with a fraction. */
    let due = 0;
    for (let nowMs = startMs; nowMs < endMs; ) {
      // Steps of uneven length, so that requests do not align with the windows.
      const stepMs = 1 + this.#rng.below(longestStepMs);
      nowMs += stepMs;
      this.#simulator.clock.advance({ to: isoTime(nowMs) });
      for (due += stepMs * perMs; due >= 1; due--) this.#callNext(nowMs);
      if (this.#sent % progressEvery < perMs * stepMs)
        onProgress(progressLine(nowMs, endMs, realStartMs), 'limit-audit');
    }
    this.#readRecord();
    return auditRun(this.#record.entries, documentedLimitsPerMinute, this.#sent);
  }

  #callNext(nowMs: number): void {
    const user = this.#users[this.#rng.below(this.#users.length)];
    const endpoint = weightedEndpoints[this.#rng.below(weightedEndpoints.length)];
    if (user === undefined || endpoint === undefined) return;
    this.#simulator.handle(requestOf(user, endpoint, this.#rng));
    this.#sent++;
    if (this.#sent % readEvery === 0) this.#readRecord();
    if (this.#sent % (this.#users.length * requestsPerAnonymous) === 0)
      this.#callWithoutKey(user, nowMs);
  }

  /**
   * AUTH-6: calls without a key count by address. The record has no address, so the reply says
   * whether they passed.
   */
  #callWithoutKey(user: User, nowMs: number): void {
    const request = { ...requestOf(user, 'send', this.#rng), authorization: undefined };
    const passed = this.#simulator.handle(request).status !== 429;
    this.#record.entries.push({ atMs: nowMs, endpoint: 'send', user: request.clientIp, passed });
    this.#sent++;
  }

  #readRecord(): void {
    this.#record.take(this.#simulator.requests.list());
  }
}

/** `nowMs` and `endMs` are simulated; `realStartMs` is real. */
function progressLine(nowMs: number, endMs: number, realStartMs: number): string {
  const leftMs = ((performance.now() - realStartMs) / (nowMs - startMs)) * (endMs - nowMs);
  const simulated = `${secondsOf(nowMs - startMs)} of ${secondsOf(endMs - startMs)} s simulated`;
  return `limit-audit: ${simulated}, about ${secondsOf(leftMs)} s left`;
}

function createAccount(simulator: Simulator, n: number): User {
  const number = `+1202556${String(n).padStart(4, '0')}`;
  const { account_id: accountId } = simulator.accounts.create({ name: `audit-${n}` });
  const keys = ['a', 'b'].map((name) => simulator.accounts.createKey(accountId, { name }).key);
  const { device_id: deviceId } = simulator.sims.create(accountId, { number });
  return { accountId, authorizations: keys.map((key) => `Bearer ${key}`), from: number, deviceId };
}

function requestOf(user: User, endpoint: EndpointName, rng: Rng): ApiRequest {
  const isSend = endpoint.endsWith('send');
  const path = servicePaths[endpoint]
    .replace('{device_id}', user.deviceId)
    .replace('{message_id}', '00000000-0000-4000-8000-000000000000');
  return {
    method: isSend ? 'POST' : 'GET',
    path,
    query: '',
    authorization: user.authorizations[rng.below(user.authorizations.length)],
    contentType: isSend ? 'application/json' : undefined,
    clientIp: addresses[rng.below(addresses.length)] ?? '',
    forwardedFor: undefined,
    body: isSend ? JSON.stringify({ to: '+12025550199', from: user.from, message: 'Audit.' }) : '',
  };
}

export interface RemoteAuditOptions {
  readonly durationMs: number;
  readonly to: string;
  readonly onProgress: (line: string, step: string) => void;
}

const userCount = 3;
const keysPerUser = 2;
/** Enough sends to exceed the limit of every user. */
const fewestSends = 2 * userCount * documentedLimits.send;
/** Requests between two reads of the record, which keeps a thousand. */
const batchSize = 200;
const pauseBetweenMs = 5;

/** Several accounts with two keys each send more than their limit, over HTTP. */
export async function remoteAudit(
  baseUrl: URL,
  control: ControlClient,
  options: RemoteAuditOptions,
): Promise<AuditRun> {
  const client = boundedClient(baseUrl);
  const { name, number } = unusedName();
  const users: RemoteAccount[] = [];
  try {
    for (let n = 0; n < userCount; n++) {
      const ownNumber = `${number.slice(0, -1)}${n}`;
      users.push(await control.createAccount(`${name}-${n}`, ownNumber, keysPerUser));
    }
    const accounts = new Set(users.map(({ accountId }) => accountId));
    const record = new RecordReader();
    const read = async () => record.take(await control.requests(), (id) => accounts.has(id));
    const untilMs = performance.now() + options.durationMs;
    let sent = 0;
    while (performance.now() < untilMs || sent < fewestSends) {
      const sends = Array.from({ length: batchSize }, (_, index) => {
        const nth = sent + index;
        const user = users[nth % userCount];
        const apiKey = user?.apiKeys[Math.floor(nth / userCount) % keysPerUser] ?? '';
        const fields = { to: options.to, from: user?.from, message: 'Audit.' };
        return client.request(sendTemplate(apiKey, fields));
      });
      await Promise.all(sends);
      sent += batchSize;
      await read();
      const leftS = Math.max(0, Math.ceil((untilMs - performance.now()) / 1_000));
      options.onProgress(`limit-audit: ${sent} requests, ${leftS} s left`, 'limit-audit');
      await pause(pauseBetweenMs);
    }
    return auditRun(record.entries, documentedLimitsPerMinute, sent);
  } finally {
    client.close();
    for (const user of users) await control.deleteAccount(user);
  }
}

/** Collects the entries of the record. Call `take` before the record overflows. */
class RecordReader {
  readonly entries: AuditEntry[] = [];
  /** The numbers of the requests that were read; those of a fleet have gaps and no order. */
  readonly #read = new Set<number>();

  /** `views`: newest first, as the record lists them. `isOurs`: the accounts to keep. */
  take(views: readonly RequestView[], isOurs: (accountId: string) => boolean = () => true): void {
    for (const { number, at, endpoint, account_id: user, status } of views.toReversed()) {
      if (this.#read.has(number)) continue;
      this.#read.add(number);
      if (endpoint === null || user === null || !isOurs(user)) continue;
      this.entries.push({ atMs: Date.parse(at), endpoint, user, passed: status !== 429 });
    }
  }
}
