/** CLIENT-1, CLIENT-2, CLIENT-17: requests during the wait that a 429 or a 503 asks for. */
import {
  type Exchange,
  isSameMessage,
  isSend,
  messageOf,
  requestIdOf,
  wasKnownTo,
} from './exchange.ts';
import { clearAttempts, type Intent } from './intents.ts';
import {
  type ClientRecord,
  type Finding,
  finding,
  grouped,
  type Judgement,
  type Judges,
  spanText,
} from './record.ts';

export const retryAfter: Judges = {
  'CLIENT-1': (record) => retriesInTime(record, 429),
  'CLIENT-2': keepsQuiet,
  'CLIENT-17': (record) => retriesInTime(record, 503),
};

/** A refusal that the client saw, and whose wait it could read. */
function holds({ status, retryAfterMs, isSeen }: Exchange, refusal = 429): boolean {
  return status === refusal && retryAfterMs !== undefined && isSeen;
}

function endOf({ atMs, retryAfterMs = 0 }: Exchange): number {
  return atMs + retryAfterMs;
}

function retriesInTime({ exchanges, intents }: ClientRecord, status: 429 | 503): Judgement {
  if (!exchanges.some((one) => holds(one, status))) return { exercised: 0, findings: [] };
  const gets = exchanges.filter(({ method }) => method === 'GET');
  const series = [
    ...intents.all.map(clearAttempts),
    ...grouped(gets, ({ caller, credential, target }) =>
      [caller, credential, target].join('\n'),
    ).values(),
  ];
  const retries = series.flatMap((one) => retriesOf(one, status));
  return {
    exercised: retries.length,
    findings: retries
      .filter(([refused, retry]) => retry.atMs < endOf(refused))
      .map(([refused, retry]) =>
        finding(
          `the retry arrived ${spanText(endOf(refused) - retry.atMs)} before the ${status} allowed it ` +
            `(Retry-After: ${refused.retryAfter}): ${adviceOn(refused)}`,
          [refused, retry],
        ),
      ),
  };
}

function adviceOn({ retryAfter: header = '' }: Exchange): string {
  return Number.isNaN(Number(header))
    ? 'wait until that time'
    : 'wait that many seconds, counted from the reply';
}

/** Each request with the latest refusal of this status that its client had seen. */
function retriesOf(
  series: readonly Exchange[],
  status: 429 | 503,
): (readonly [refused: Exchange, Exchange])[] {
  const found: (readonly [Exchange, Exchange])[] = [];
  let refused: Exchange | undefined;
  let pending: Exchange[] = [];
  for (const one of series) {
    for (const earlier of pending) if (wasKnownTo(one, earlier)) refused = earlier;
    pending = pending.filter((earlier) => !wasKnownTo(one, earlier));
    if (refused !== undefined) found.push([refused, one]);
    // What passed ends the wait.
    if (one.status !== 429 && one.status < 500 && one.isSeen) refused = undefined;
    if (holds(one, status)) pending.push(one);
  }
  return found;
}

function keepsQuiet(record: ClientRecord): Judgement {
  const { exchanges, intents, graceMs, isPartial, isCutAtStart } = record;
  // A request may retry what came before the record.
  if (isCutAtStart || !exchanges.some((one) => holds(one))) return { exercised: 0, findings: [] };
  const intentOf = new Map(
    intents.all.flatMap((intent) => intent.attempts.map((attempt) => [attempt, intent] as const)),
  );
  // In a partial record, the same message, or another one under a known id, may be its retry.
  const isRetry = (one: Exchange, refused: Exchange) =>
    isSend(one)
      ? intentOf.get(one) === intentOf.get(refused) ||
        (isPartial && (isKnown(one) || isLike(one, refused) || isLike(refused, one)))
      : one.target === refused.target && one.credential === refused.credential;
  const messages = new Map<Intent, ReadonlySet<string>>();
  const messagesOf = (intent: Intent) => {
    const known = messages.get(intent) ?? new Set(intent.attempts.map(messageOf));
    messages.set(intent, known);
    return known;
  };
  const isLike = (one: Exchange, other: Exchange) => {
    const intent = intentOf.get(one);
    return intent !== undefined && messagesOf(intent).has(messageOf(other));
  };
  const firstUse = new Map<string, Exchange>();
  for (const one of isPartial ? exchanges : []) {
    const id = isSend(one) ? requestIdOf(one) : undefined;
    const key = `${one.caller}\n${id}`;
    if (id !== undefined && !firstUse.has(key)) firstUse.set(key, one);
  }
  const isKnown = (one: Exchange) => {
    const first = firstUse.get(`${one.caller}\n${requestIdOf(one)}`);
    return first !== undefined && !isSameMessage(first, one);
  };
  const held = new Map<string, Exchange>();
  const findings: Finding[] = [];
  let exercised = 0;
  for (const exchange of exchanges) {
    const key = `${exchange.caller} ${exchange.endpoint}`;
    const refused = held.get(key);
    const isCovered = refused !== undefined && exchange.atMs < endOf(refused);
    if (
      isCovered &&
      exchange.atMs > refused.answeredAtMs + graceMs &&
      wasKnownTo(exchange, refused)
    ) {
      if (!isRetry(exchange, refused)) {
        findings.push(
          finding(
            `another request arrived ${spanText(exchange.atMs - refused.atMs)} after a 429 that covers it ` +
              `(Retry-After: ${refused.retryAfter}): hold back all requests of this endpoint until the wait is over`,
            [refused, exchange],
          ),
        );
      }
    }
    if (!holds(exchange)) continue;
    exercised++;
    if (!isCovered) held.set(key, exchange);
  }
  return { exercised, findings };
}
