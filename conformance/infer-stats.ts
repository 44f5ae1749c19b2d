/**
 * Infers the template of the statistics from two replies, before and after an accepted message.
 */
import { isObject } from './verify.ts';

interface Place {
  readonly at: string;
  /** The largest number of messages that can have been accepted in between. */
  readonly most: number;
  readonly untold: string[];
}

export function figures(before: unknown, after: unknown, place: Place): unknown {
  const { at, most, untold } = place;
  if (isObject(before) && isObject(after))
    return Object.fromEntries(
      Object.entries(after).map(([name, value]) => [
        name,
        countsByStatus(after) && statuses.includes(name)
          ? `{${name}}`
          : figures(before[name], value, { ...place, at: `${at}.${name}` }),
      ]),
    );
  if (typeof before === 'number' && typeof after === 'number' && before !== after) {
    const isQueued = /\.queued$/.test(at);
    const change = after - before;
    if (change > 0 && change <= most) return isQueued ? '{queued}' : '{accepted}';
    if (change < 0 && -change <= most) return '{quota_left}';
  }
  if (JSON.stringify(before) === JSON.stringify(after)) {
    const status = /\.(sending|delivered|failed)$/.exec(at)?.[1];
    if (typeof after === 'number' && status !== undefined) return `{${status}}`;
    return after;
  }
  untold.push(`${at} changed from ${JSON.stringify(before)} to ${JSON.stringify(after)}`);
  return after;
}

const statuses: readonly string[] = ['queued', 'sending', 'sent', 'delivered', 'failed'];

/** A figure of every status: its name decides, because it changes while messages progress. */
function countsByStatus(figuresOfOne: Readonly<Record<string, unknown>>): boolean {
  return statuses.every((status) => typeof figuresOfOne[status] === 'number');
}
