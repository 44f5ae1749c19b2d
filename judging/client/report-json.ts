/**
 * The report of the referee as JSON, its exchanges and intents for the dashboard and other views,
 * and the matcher `expect(sim).toPassReferee()`, whose failure message lists what the client did
 * wrong: for Vitest and, by `expect.extend`, for Jest.
 */
import type { ClientRuleId } from '#contract/rules.ts';
import { isoTime } from '#contract/time.ts';
import { counted } from '#io/terminal.ts';
import { bodyOf, requestIdOf } from '../evidence/exchange.ts';
import {
  type ClientExchange,
  isAcceptedOrReplayed,
  isUnresolved,
  messageIdIfAny,
} from './exchange.ts';
import type { ReportedIntent } from './intents-file.ts';
import type { RefereeReport } from './judge.ts';
import { type ClientRecord, type Intent, isAttributable, lastAttempt } from './record.ts';

/** The report as JSON; findings name exchanges by their numbers in the record. */
export function reportJson({ rules, exchanges, intents, notices }: RefereeReport) {
  return {
    rules: rules.map(({ findings, notices: _, ...rule }) => ({
      ...rule,
      findings: findings.map(({ accountId, endpoint, what, exchanges: proof }) => ({
        account_id: accountId ?? null,
        endpoint: endpoint ?? null,
        what,
        exchanges: proof.map(({ number }) => number),
        ...messageOf(proof),
      })),
    })),
    notices: notices.map(({ what, exchanges: proof }) => ({
      what,
      exchanges: proof.map(({ number }) => number),
    })),
    intents: countsOf(intents.all),
    unattributable: intents.unattributable,
    exchanges: exchanges.length,
  };
}

/** The most that a finding shows of a recipient or a text. */
const longestShownText = 80;

/** The recipient and the text of a finding's first request. */
function messageOf([first]: readonly ClientExchange[]) {
  const shown = (value: unknown) =>
    typeof value === 'string' ? value.slice(0, longestShownText) : null;
  return { to: shown(first?.fields?.['to']), text: shown(first?.fields?.['message']) };
}

/** How many intents were accepted, refused for good, and left open. */
export function countsOf(intents: readonly Intent[]) {
  const accepted = intents.filter(({ attempts }) => attempts.some(isAcceptedOrReplayed)).length;
  const isRefused = (intent: Intent) =>
    !intent.attempts.some(isAcceptedOrReplayed) && !isUnresolved(lastAttempt(intent));
  const refused = intents.filter(isRefused).length;
  return { accepted, refused, open: intents.length - accepted - refused };
}

/** The exchanges and intents of a report, for the dashboard and other views. */
export function detailsOf({ exchanges, intents }: Pick<ClientRecord, 'exchanges' | 'intents'>) {
  return { exchanges: exchanges.map(exchangeDetails), intents: intents.all.map(intentDetails) };
}

function exchangeDetails(one: ClientExchange) {
  const status = bodyOf(one)['status'];
  return {
    number: one.number,
    at: isoTime(one.sentAt),
    answered_at: isoTime(one.answeredAt),
    seen: one.isSeen,
    account_id: one.caller.account ?? null,
    account: one.caller.accountName ?? null,
    endpoint: one.endpoint ?? null,
    method: one.method,
    path: one.target,
    request_id: requestIdOf(one) ?? null,
    status: one.reply.status,
    retry_after: one.retryAfter ?? null,
    retry_after_ms: one.retryAfterMs ?? null,
    message_id: messageIdIfAny(one) ?? null,
    message_status: typeof status === 'string' ? status : null,
  };
}

function intentDetails(intent: Intent) {
  const { attempts, requestId } = intent;
  const [first] = attempts;
  const accepted = attempts
    .filter(isAcceptedOrReplayed)
    .map((one) => messageIdIfAny(one) ?? one.number);
  const to = first?.fields?.['to'];
  return {
    account_id: first?.caller.account ?? null,
    endpoint: first?.endpoint ?? null,
    to: typeof to === 'string' ? to : null,
    request_id: requestId ?? null,
    attributable: isAttributable(intent),
    accepted: new Set(accepted).size,
    exchanges: attempts.map(({ number }) => number),
  };
}

/** What `toPassReferee` judges, and what it lets pass. */
export interface PassRefereeOptions {
  /** Rules that may be broken. */
  readonly allow?: readonly ClientRuleId[];
  /** Advice counts as failure. */
  readonly strict?: boolean;
  /** The client has not finished: judges only what later requests cannot change. */
  readonly partial?: boolean;
  /** Judges this account alone, by name or id. */
  readonly account?: string;
  /** How long after a 429 a request was still in flight (CLIENT-2): `"1s"`. */
  readonly grace?: string | number;
  /** What the client meant to send and what it reported. */
  readonly intents?: readonly Omit<ReportedIntent, 'lines'>[];
}

interface Refereed {
  referee(options: Omit<PassRefereeOptions, 'allow'>): ReturnType<typeof reportJson>;
}

/** What a matcher of Vitest or Jest returns. */
export interface MatcherResult {
  /** True if no rule is broken. */
  readonly pass: boolean;
  /** What the client did wrong, by rule. */
  readonly message: () => string;
}

const shownFindings = 5;

/** For Jest: `expect.extend({ toPassReferee })`; `smstwin/vitest` does this itself. */
export function toPassReferee(received: unknown, options: PassRefereeOptions = {}): MatcherResult {
  if (typeof (received as Partial<Refereed> | undefined)?.referee !== 'function')
    return { pass: false, message: () => 'expected a simulator of smstwin' };
  const { allow = [], ...judged } = options;
  const { rules, exchanges } = (received as Refereed).referee(judged);
  const broken = rules.filter(({ id, verdict }) => verdict === 'failed' && !allow.includes(id));
  const lines = broken.flatMap(({ id, level, findings }) => [
    `${id} (${level})`,
    ...findings
      .slice(0, shownFindings)
      .map(({ what, exchanges: numbers }) => `  ${what} [exchanges ${numbers.join(', ')}]`),
    ...(findings.length > shownFindings ? [`  and ${findings.length - shownFindings} more`] : []),
  ]);
  const count = counted(exchanges, 'exchange');
  return {
    pass: broken.length === 0,
    message: () =>
      broken.length === 0
        ? `expected the client to break a rule, but it passed with ${count}`
        : `expected the client to pass the referee, but in ${count}:\n\n${lines.join('\n')}`,
  };
}
