/**
 * Infers the template of the statistics, for `--discover`, from a reply before and one after an
 * accepted message.
 */
import { statuses } from '#contract/message-status.ts';
import { isObject } from '#judging/service/expectations.ts';

/** A part of the statistics in two replies, which are compared. */
interface ComparedPart {
  /** The path of the part. */
  readonly at: string;
  /** The largest number of messages that can have been accepted between the two replies. */
  readonly maxAccepted: number;
  /** Why figures have no placeholder; the comparison adds to it. */
  readonly undetermined: string[];
}

/**
 * The change of a figure shows what it is; if it did not change, its name does. Other figures are left
 * out, because a number of one day would be wrong on any other.
 */
export function inferStats(before: unknown, after: unknown, part: ComparedPart): unknown {
  const { at } = part;
  if (isObject(before) && isObject(after)) {
    return Object.fromEntries(
      Object.entries(after).flatMap(([name, value]) => {
        const figure =
          countsByStatus(after) && statuses.some((status) => status === name)
            ? `{${name}}`
            : inferStats(before[name], value, { ...part, at: `${at}.${name}` });
        return figure === undefined ? [] : [[name, figure]];
      }),
    );
  }
  const placeholder = typeof after === 'number' ? placeholderOf(before, after, part) : undefined;
  if (placeholder !== undefined) return placeholder;
  const isSame = JSON.stringify(before) === JSON.stringify(after);
  if (isSame && typeof after !== 'number') return after;
  part.undetermined.push(
    isSame
      ? `${at} is a figure that did not change: ${after}`
      : `${at} changed from ${JSON.stringify(before)} to ${JSON.stringify(after)}`,
  );
  return undefined;
}

function placeholderOf(before: unknown, after: number, part: ComparedPart): string | undefined {
  if (typeof before !== 'number') return undefined;
  const { at, maxAccepted } = part;
  const change = after - before;
  if (change > 0 && change <= maxAccepted) return /\.queued$/.test(at) ? '{queued}' : '{accepted}';
  if (change < 0 && -change <= maxAccepted) return '{quota_left}';
  if (change !== 0) return undefined;
  const name = at.slice(at.lastIndexOf('.') + 1);
  const figure = constantFigures.find(([names]) => names.test(name))?.[1];
  return figure && `{${figure}}`;
}

/** Figures that do not change with a send, by their possible names; the first match counts. */
const constantFigures: readonly (readonly [RegExp, string])[] = [
  ...['sending', 'delivered', 'failed'].map((one) => [new RegExp(`^${one}$`), one] as const),
  [/inbound|incoming|received/i, 'received'],
  [/^(connected_?)?(sims?|devices?|lines?)(_?connected|_?count)?$/i, 'sims_connected'],
  [/limit|quota|monthly|allowance|included/i, 'quota_limit'],
];

/**
 * True for an object with a count of each status. The names of its members say what they are: their
 * changes do not, because messages progress between the two replies.
 */
function countsByStatus(figures: Readonly<Record<string, unknown>>): boolean {
  return statuses.every((status) => typeof figures[status] === 'number');
}
