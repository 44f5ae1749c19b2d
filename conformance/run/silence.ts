/**
 * Requests of a case that the service never answers, while it answers others. The client repeats a
 * request whose connection broke; one that broke each time is sent again here, until chance explains
 * it no more. Every documented request has a reply, so that is a failure.
 */
import { type Exchange, isSend, methodOf, requestIdOf } from '#judging/evidence/exchange.ts';
import type { Trace } from '#judging/service/judge.ts';
import { validityOf } from '#judging/service/validity.ts';
import { bearerHeader, wallClock } from '../target/client.ts';
import { isBroken } from '../target/connections.ts';
import type { Found } from './case-result.ts';
import type { UnansweredRequest } from './recorded-requests.ts';
import { paths, type Trial } from './trial.ts';

/** The most requests of a case that are sent again because none of their tries was answered. */
const mostAskedAgain = 3;
/**
 * The tries of such a request, with another request before and after each. A service that breaks
 * one connection of 50 at random breaks nine in a row, and none of the others, less often than once
 * in 10^15 requests; one that breaks every fifth, less often than once in 10^6.
 */
const triesAgain = 8;
/** Lets the client see that the connection of the other request was closed after its reply. */
const apartMs = 250;

/** Requests that were sent again: several cases may judge the recording that has them. */
const askedAgain = new WeakMap<object, Promise<Found | undefined>>();

/**
 * A request that the service never answers while it answers others, as a failure: every documented
 * request has a reply. Undefined if there is none, or if chance may explain each.
 */
export async function silenceIn(trial: Trial): Promise<Found | undefined> {
  if (trial.unanswered.length === 0) return undefined;
  const trace = trial.trace();
  const mayAsk = ({ options, exchange }: UnansweredRequest) =>
    options.localAddress === undefined && isPlain(exchange) && mayRepeat(exchange, trace);
  for (const one of trial.unanswered.filter(mayAsk).slice(0, mostAskedAgain)) {
    const asking = askedAgain.get(one.options) ?? askAgain(trial, one);
    askedAgain.set(one.options, asking);
    const silence = await asking;
    if (silence !== undefined) return silence;
  }
  return undefined;
}

/** Characters that a Bearer key (RFC 6750) and an id may have; nothing in between refuses them. */
const plainKey = /^Bearer [\w.~+/-]{1,256}=*$/;
const plainId = /^[\w.~-]{1,100}$/;
/** No server reads less of a body. */
const shortBytes = 32_768;

/** True for a documented request that no proxy or parser refuses by closing the connection. */
function isPlain({ endpoint, method, id, query, headers, body = '' }: Exchange): boolean {
  const credentials = headers['authorization'];
  return (
    endpoint !== undefined &&
    method === methodOf(endpoint) &&
    (id === undefined || plainId.test(id)) &&
    (credentials === undefined || plainKey.test(credentials)) &&
    headers['transfer-encoding'] === undefined &&
    query.length + Buffer.byteLength(body) <= shortBytes
  );
}

/** True if the request cannot create a second message: a send is a replay, or must be refused. */
function mayRepeat(exchange: Exchange, trace: Trace): boolean {
  const isInvalid = () => validityOf(exchange, trace).invalid.length > 0;
  return (
    !isSend(exchange) ||
    requestIdOf(exchange) !== undefined ||
    exchange.caller.key !== 'valid' ||
    isInvalid()
  );
}

/** Sends a request again, by turns with one that is answered. */
async function askAgain(
  trial: Trial,
  { options, exchange }: UnansweredRequest,
): Promise<Found | undefined> {
  const { client, flags, signal, maxSends = Number.POSITIVE_INFINITY } = trial.target;
  if (isSend(exchange) && client.sends + triesAgain > maxSends) return undefined;
  const known = trial.exchanges.find(({ caller }) => caller.key === 'valid');
  const authorization = known?.headers['authorization'];
  const headers = authorization === undefined ? bearerHeader(flags.apiKey) : { authorization };
  const other = { method: 'GET', path: paths.stats, headers, mayRetry: false };
  const isOtherAnswered = async () => (await client.request(other)).status !== 0;
  let { reply } = exchange;
  let broken = reply.interruptions;
  for (let tries = 0; tries < triesAgain; tries += 1) {
    if (signal.aborted || !(await isOtherAnswered())) return undefined;
    await wallClock.sleep(apartMs, signal).catch(() => {});
    reply = await trial.request({ ...options, mayRetry: false });
    if (!isBroken(reply)) return undefined;
    broken += 1;
  }
  if (!(await isOtherAnswered())) return undefined;
  client.hasSeenCrash = true;
  const why = `none, ${broken} times (${reply.failure}), while ${triesAgain + 1} others were answered`;
  return { verdict: 'failed', expected: 'a reply', actual: why, broken: reply.exchange };
}
