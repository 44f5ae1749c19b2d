/** Whether a target answers at all, and whether its answers can be those of the service. */

import { Lacking } from '#judging/service/expectations.ts';
import { paths, Trial } from '../run/case-run.ts';
import { timedOut } from './connections.ts';
import { ControlFailed } from './control.ts';
import type { Target } from './target.ts';

/** A target that breaks one connection of seven is reachable. */
const mostAttempts = 6;

/** The reason if the target sends no HTTP reply in several tries; undefined if it sends one. */
export async function failureOf(target: Target): Promise<string | undefined> {
  let failure = '';
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const key = target.flags.apiKey;
    const reply = await target.client.request({
      method: 'GET',
      path: paths.stats,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      retried: false,
    });
    if (reply.status !== 0 || reply.unusable === true) return undefined;
    failure = reply.failure ?? 'no reply';
    if (failure === timedOut) break;
  }
  return failure;
}

/**
 * True if a request with a key, one without a key and one for an unknown message get the same
 * status: such a target is not the service.
 */
export async function answersAllAlike(target: Target): Promise<boolean> {
  const trial = new Trial(target);
  try {
    const { key } = await trial.account({ sims: 0 });
    const unknown = paths.read('00000000-0000-4000-8000-000000000000');
    const replies = [
      await trial.get(paths.stats, key),
      await trial.get(paths.stats, undefined),
      await trial.get(unknown, key),
    ];
    const [first] = replies;
    // Replies that exceed a bound have status 0 too. They fail each case by themselves.
    return first?.status !== 0 && replies.every(({ status }) => status === first?.status);
  } catch (error) {
    if (error instanceof Lacking || error instanceof ControlFailed) return false;
    throw error;
  }
}
