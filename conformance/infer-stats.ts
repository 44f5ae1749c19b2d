/**
 * Infers the template of the statistics from two replies, before and after an accepted message. A
 * figure is known by how it changed, or by its name if it did not; another is left out, as a number
 * of that day would be wrong on every other.
 */
import { isObject } from './verify.ts';

interface Place {
  readonly at: string;
  /** The largest number of messages that can have been accepted in between. */
  readonly most: number;
  readonly untold: string[];
}

export function figures(before: unknown, after: unknown, place: Place): unknown {
  const { at } = place;
  if (isObject(before) && isObject(after))
    return Object.fromEntries(
      Object.entries(after).flatMap(([name, value]) => {
        const shown =
          countsByStatus(after) && statuses.includes(name)
            ? `{${name}}`
            : figures(before[name], value, { ...place, at: `${at}.${name}` });
        return shown === undefined ? [] : [[name, shown]];
      }),
    );
  const placeholder = typeof after === 'number' ? meaning(before, after, place) : undefined;
  if (placeholder !== undefined) return placeholder;
  const isSame = JSON.stringify(before) === JSON.stringify(after);
  if (isSame && typeof after !== 'number') return after;
  place.untold.push(
    isSame
      ? `${at} is a figure that did not change: ${after}`
      : `${at} changed from ${JSON.stringify(before)} to ${JSON.stringify(after)}`,
  );
  return undefined;
}

function meaning(before: unknown, after: number, { at, most }: Place): string | undefined {
  if (typeof before !== 'number') return undefined;
  const change = after - before;
  if (change > 0 && change <= most) return /\.queued$/.test(at) ? '{queued}' : '{accepted}';
  if (change < 0 && -change <= most) return '{quota_left}';
  const name = at.slice(at.lastIndexOf('.') + 1);
  const found = change === 0 ? named.find(([pattern]) => pattern.test(name)) : undefined;
  return found && `{${found[1]}}`;
}

const statuses: readonly string[] = ['queued', 'sending', 'sent', 'delivered', 'failed'];

/** What a figure is that does not change with a send; most telling names first. */
const named: readonly (readonly [RegExp, string])[] = [
  ...['sending', 'delivered', 'failed'].map((one) => [new RegExp(`^${one}$`), one] as const),
  [/inbound|incoming|received/i, 'received'],
  [/^(connected_?)?(sims?|devices?|lines?)(_?connected|_?count)?$/i, 'sims_connected'],
  [/limit|quota|monthly|allowance|included/i, 'quota_limit'],
];

/** A figure of every status: its name decides, because it changes while messages progress. */
function countsByStatus(figuresOfOne: Readonly<Record<string, unknown>>): boolean {
  return statuses.every((status) => typeof figuresOfOne[status] === 'number');
}
