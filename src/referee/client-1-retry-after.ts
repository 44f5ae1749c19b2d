/** CLIENT-1, CLIENT-2: what a client does while a 429 holds. */
import { type Exchange, isSend } from './exchange.ts';
import {
  type ClientRecord,
  consecutive,
  type Finding,
  finding,
  type Judgement,
  type Judges,
  spanText,
} from './record.ts';

export const retryAfter: Judges = { 'CLIENT-1': retriesInTime, 'CLIENT-2': keepsQuiet };

/** A 429 that the client saw, and whose wait it could read. */
function holds({ status, retryAfterMs, isSeen }: Exchange): boolean {
  return status === 429 && retryAfterMs !== undefined && isSeen;
}

function endOf({ atMs, retryAfterMs = 0 }: Exchange): number {
  return atMs + retryAfterMs;
}

function retriesInTime({ exchanges, intents }: ClientRecord): Judgement {
  const retries: (readonly [Exchange, Exchange])[] = [
    ...intents.all
      .filter(({ isAttributable }) => isAttributable)
      .flatMap(({ attempts }) => [...consecutive(attempts, () => '')]),
    ...consecutive(exchanges, (exchange) =>
      exchange.method === 'GET' ? `${exchange.caller} ${exchange.target}` : undefined,
    ),
  ].filter(([earlier]) => holds(earlier));
  const early = retries.filter(([refused, retry]) => retry.atMs < endOf(refused));
  return {
    exercised: retries.length,
    findings: early.map(([refused, retry]) =>
      finding(
        `the retry arrived ${spanText(endOf(refused) - retry.atMs)} before the 429 allowed it ` +
          `(Retry-After: ${(refused.retryAfterMs ?? 0) / 1_000}): wait that many seconds, counted from the reply`,
        refused,
        retry,
      ),
    ),
  };
}

function keepsQuiet({ exchanges, intents, graceMs }: ClientRecord): Judgement {
  const intentOf = new Map(
    intents.all.flatMap((intent) => intent.attempts.map((attempt) => [attempt, intent] as const)),
  );
  const held = new Map<string, Exchange>();
  const findings: Finding[] = [];
  let exercised = 0;
  for (const exchange of exchanges) {
    const key = `${exchange.caller} ${exchange.endpoint}`;
    const refused = held.get(key);
    if (refused !== undefined && exchange.atMs < endOf(refused)) {
      const isRetry = isSend(exchange)
        ? intentOf.get(exchange) === intentOf.get(refused)
        : exchange.target === refused.target;
      const isLate = exchange.atMs > refused.answeredAtMs + graceMs;
      if (!isRetry && isLate) {
        findings.push(
          finding(
            `another request arrived ${spanText(exchange.atMs - refused.atMs)} after a 429 that covers it ` +
              `(Retry-After: ${(refused.retryAfterMs ?? 0) / 1_000}): hold back all requests of this endpoint until the wait is over`,
            refused,
            exchange,
          ),
        );
      }
    }
    if (holds(exchange)) {
      exercised++;
      if (refused === undefined || exchange.atMs >= endOf(refused)) held.set(key, exchange);
    }
  }
  return { exercised, findings };
}
