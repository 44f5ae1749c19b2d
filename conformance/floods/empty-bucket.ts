/**
 * What is requested while the bucket of a flood is empty: everything that the empty bucket must not
 * affect. Rules: LIMIT-1, LIMIT-3 to LIMIT-7, READ-3, AUTH-6.
 */

import type { Reply } from '#judging/evidence/reply.ts';
import { type Bucket, endpoints } from '#judging/limiter/buckets.ts';
import * as verify from '#judging/service/expectations.ts';
import { paths, type Subject, type Trial } from '../run/case-run.ts';
import { flood, isRefused, isSending, pathFor, recent, request } from './limited.ts';

interface FloodedBucket {
  readonly account: Subject;
  readonly bucket: Bucket;
  /** The reply to the first request of the flood. */
  readonly first: Reply;
}

/**
 * Sends what the empty bucket must not affect. `isOtherRefused`: another endpoint answered 429.
 * `forwarded`: the reply to a call that claims to be forwarded from another address.
 */
export async function requestWhileEmpty(t: Trial, { account, bucket, first }: FloodedBucket) {
  const isOtherRefused = await requestOthers(t, bucket, account);
  const forwarded =
    bucket === 'address'
      ? await t.get(paths.received, undefined, { 'x-forwarded-for': otherAddress })
      : undefined;
  await readsOf(t, account, first);
  return { isOtherRefused, forwarded };
}

/** An address that a request claims to come from; reserved for documents (RFC 5737). */
const otherAddress = '203.0.113.9';

/**
 * Requests everything that the empty bucket must not affect: each other endpoint, and the flooded
 * one for another account or from another address. True if another endpoint answered 429.
 */
async function requestOthers(t: Trial, bucket: Bucket, account: Subject): Promise<boolean> {
  let isThrottled = false;
  const flooded = bucket === 'address' ? undefined : bucket;
  for (const endpoint of endpoints) {
    // Without a control port, only floods of sends send a message: they test this pair of endpoints
    // from the other side.
    const isCostly = isSending(endpoint) && !isSending(bucket) && !t.controlled;
    if (endpoint === flooded || isCostly) continue;
    if (endpoint === 'tasks' && account.sims.length === 0) continue;
    // An endpoint that was flooded earlier is empty because of its own limit.
    if (recent(t, endpoint, account).some(({ reply }) => isRefused(reply))) continue;
    const { status } = await request(t, endpoint, account);
    isThrottled ||= status === 429;
  }
  if (flooded !== undefined && (t.controlled || t.target.flags.secondApiKey !== undefined)) {
    const other = await t.otherAccount();
    if (flooded === 'tasks') await t.get(pathFor(flooded, account), other.key);
    else await request(t, flooded, other);
  }
  if (bucket === 'received') await fromSecondAddress(t, { authorization: `Bearer ${account.key}` });
  if (bucket === 'address') await fromSecondAddress(t, {});
  return isThrottled;
}

/** So many at once that the tokens which return meanwhile do not explain it if all pass. */
const secondAddressTimes = 20;

/** Requests of the same caller from another address, if the target is on this machine. */
async function fromSecondAddress(t: Trial, headers: Readonly<Record<string, string>>) {
  if (!/^(localhost|127\.)/.test(new URL(t.target.client.baseUrl).hostname)) return;
  const localAddress = '127.0.0.2';
  const request = { method: 'GET', path: paths.received, headers, localAddress, retried: false };
  await flood(secondAddressTimes, () => t.request(request));
}

const readTimes = 5;

/** Reads the statistics and the first message: neither is limited (READ-3, LIMIT-6). */
async function readsOf(t: Trial, account: Subject, first: Reply): Promise<void> {
  await t.get(paths.stats, account.key);
  const id = verify.isObject(first.json) ? first.json['message_id'] : undefined;
  if (typeof id === 'string') await flood(readTimes, () => t.read(account, id));
}
