/**
 * Probes: requests that show the answer to an assumption, and what their replies mean. A probe is a
 * generator that yields requests and receives their replies, so a run can drive it over a network,
 * and a test without one. Observations of the harness and examples of answers use it.
 */
import type { AssumptionName } from '#contract/assumptions.ts';
import { hourMs } from '#contract/time.ts';
import type { ProbeReply, RequestOptions } from '#judging/evidence/reply.ts';
import * as verify from '#judging/service/expectations.ts';
import { about, type Observation, type Seen } from '../run/case.ts';
import { type AccountUnderTest, paths, type Trial } from '../run/trial.ts';

export type Probe = (by: Asker) => Generator<RequestOptions, Seen, ProbeReply>;

/** What a probe knows of the account. */
interface Facts {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly nowMs: number;
  /** A number that no SIM has. */
  readonly unknownFrom: string;
  readonly deviceId: string;
  readonly requestId: () => string;
}

/** Builds the requests of a probe for one account. */
export class Asker {
  readonly facts: Facts;

  constructor(facts: Facts) {
    this.facts = facts;
  }

  /** An acceptable send with some fields replaced; `undefined` removes a field. */
  send(fields: Readonly<Record<string, unknown>> = {}, path: string = paths.send): RequestOptions {
    const { to, from } = this.facts;
    return this.post(JSON.stringify({ to, from, message: 'conformance', ...fields }), path);
  }

  post(body: string, path: string = paths.send, type = 'application/json'): RequestOptions {
    const headers = { authorization: `Bearer ${this.facts.key}`, 'content-type': type };
    return { method: 'POST', path, headers, body };
  }

  get(path: string, method = 'GET'): RequestOptions {
    return { method, path, headers: { authorization: `Bearer ${this.facts.key}` } };
  }

  /** Half a day ahead, as `YYYY-MM-DDThh:mm:ss`: a target may allow no more. */
  get ahead(): string {
    return new Date(this.facts.nowMs + halfDayMs).toISOString().slice(0, 19);
  }
}

const halfDayMs = 12 * hourMs;
/** Reserved for fiction, so a service that was not asked about it has no SIM with it. */
const fictionalNumber = '+12025550187';

/** The answer for what was seen. */
export function answerOf(seen: string, answers: Readonly<Record<string, string>>): Seen {
  const answer = answers[seen];
  return answer === undefined ? { undetermined: `an unexpected reply: ${seen}` } : { answer };
}

type ObservationId = `${AssumptionName}/${string}`;

interface ObservationRow
  extends Partial<Pick<Observation, 'needs' | 'spends'>>,
    Pick<Observation, 'sends'> {
  readonly probe: Probe;
}

/** An observation by a probe. `sendCount`: the messages that it sends; if 0, it needs only a key. */
export function observe(
  id: ObservationId,
  sendCount: number,
  { needs = sendCount === 0 ? ['key'] : ['sender'], probe, ...row }: ObservationRow,
): ProbedObservation {
  const isSending = sendCount > 0;
  const rest = {
    ...row,
    ...(isSending && { account: { isAny: true } }),
    run: (t: Trial, account: AccountUnderTest) => runProbe(t, account, { probe, isSending }),
  };
  // One more send proves that the account can send.
  return { ...about(id, needs, isSending ? sendCount + 1 : 0, rest), probe };
}

interface StatusRow extends Omit<ObservationRow, 'probe'> {
  readonly requests: (by: Asker) => readonly RequestOptions[];
  /** The answer by the statuses of all requests, separated by spaces. */
  readonly answers: Readonly<Record<string, string>>;
}

/** An observation that looks only at the statuses of its replies. */
export function observeStatuses(
  id: ObservationId,
  sendCount: number,
  { requests, answers, ...row }: StatusRow,
): ProbedObservation {
  return observe(id, sendCount, {
    ...row,
    *probe(by) {
      const statuses: number[] = [];
      for (const request of requests(by)) statuses.push((yield request).status);
      return answerOf(statuses.join(' '), answers);
    },
  });
}

export interface ProbedObservation extends Observation {
  readonly probe: Probe;
}

/** Sends the requests of the probe one by one, and passes it each reply. Returns what it saw. */
async function runProbe(
  t: Trial,
  account: AccountUnderTest,
  { probe, isSending }: { readonly probe: Probe; readonly isSending: boolean },
): Promise<Seen> {
  await (isSending ? requireSender(t, account) : requireKey(t, account));
  const { flags, control } = t.target;
  const steps = probe(
    new Asker({
      key: account.key,
      from: account.from,
      to: isSending ? t.recipient : '',
      nowMs: t.now(),
      unknownFrom: flags.unknownFrom ?? control?.unusedNumber() ?? fictionalNumber,
      deviceId: account.sims[0]?.deviceId ?? '',
      requestId: () => t.requestId(),
    }),
  );
  let step = steps.next();
  while (step.done !== true) step = steps.next(await t.request(step.value));
  return step.value;
}

/** Requires that the service asks for a key, and accepts that of the account. */
export async function requireKey(t: Trial, { key }: AccountUnderTest): Promise<void> {
  const withKey = await t.get(paths.stats, key);
  const stranger = await t.get(paths.stats, undefined);
  verify.given(() => {
    verify.status(withKey, 200);
    verify.status(stranger, 401);
  });
}

/** For each target, the accepted sends that prove that accounts can send, by their keys. */
const proofs = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Requires that the account can send: only then does a refusal have a meaning. Without a control
 * port, one send is enough for all cases that share the account.
 */
export async function requireSender(t: Trial, account: AccountUnderTest): Promise<void> {
  const proofsOfRun = proofs.get(t.target) ?? new Map<string, Promise<unknown>>();
  proofs.set(t.target, proofsOfRun);
  const proof = proofsOfRun.get(account.key) ?? t.mustSend(account);
  proofsOfRun.set(account.key, proof);
  await proof;
}

/**
 * Finds the largest accepted value by bisection. Tries `usual` bounds first, then the value after
 * the accepted one. `low` counts as accepted, and values above `high` as refused.
 */
export async function largestAccepted(
  low: number,
  high: number,
  accepts: (n: number) => Promise<boolean>,
  usual: readonly number[] = [],
): Promise<number> {
  let good = low;
  let bad = high + 1;
  const bisect = async (middleOf: () => number | undefined) => {
    for (let middle = middleOf(); middle !== undefined; middle = middleOf()) {
      if (await accepts(middle)) good = middle;
      else bad = middle;
    }
  };
  await bisect(() => {
    const open = usual.filter((n) => n > good && n < bad && n < high);
    return open[Math.floor(open.length / 2)];
  });
  if (usual.includes(good) && bad - good > 1) {
    if (!(await accepts(good + 1))) return good;
    good += 1;
  }
  await bisect(() => (bad - good > 1 ? Math.floor((good + bad) / 2) : undefined));
  return good;
}
