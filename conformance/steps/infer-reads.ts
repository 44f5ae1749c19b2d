/**
 * Infers the templates of the replies that an account reads, for `--discover`: the list of received
 * messages, from its entries, and the statistics, from a reply before and one after an accepted
 * message. The values decide what a member is; its name decides only if they do not.
 */
import { statuses } from '#contract/message-status.ts';
import { isObject, type Json } from '#contract/request-and-reply.ts';
import { type Inferred, isTime, isUuid } from '#judging/discovery/infer-template.ts';

/** What is known of the account whose messages are listed. */
export interface Recipient {
  readonly number: string;
  /** Undefined: no device of the account is known. */
  readonly deviceId: string | undefined;
}

/** What a member of an entry can be. */
interface Role {
  readonly placeholder: string;
  /** True if a member with these values, one from each entry, can have this role. */
  readonly fits: (values: readonly Json[], recipient: Recipient) => boolean;
  /** A member with such a name is preferred over others that fit. */
  readonly named: RegExp;
  /** True if a member with these values can have this role if it has such a name. */
  readonly fitsIfNamed?: (values: readonly Json[]) => boolean;
}

const isNumber = (value: Json) => typeof value === 'string' && /^\+[1-9]\d{6,14}$/.test(value);
const isText = (value: Json) => typeof value === 'string';
const areDistinct = (values: readonly Json[]) => new Set(values).size === values.length;

/** The roles, in the order in which they are assigned. Each member has one role. */
const roles: readonly Role[] = [
  {
    placeholder: 'to',
    fits: (values, { number }) => values.every(isNumber) && values.includes(number),
    named: /to|recipient|dest/i,
  },
  {
    placeholder: 'from_number',
    fits: (values, { number }) => values.every(isNumber) && !values.includes(number),
    named: /from|sender|source|origin/i,
  },
  {
    placeholder: 'device_id',
    fits: (values, { deviceId }) => values.every(isUuid) && values.includes(deviceId ?? ''),
    fitsIfNamed: (values) => values.every(isUuid),
    named: /device|sim/i,
  },
  {
    placeholder: 'message_id',
    fits: (values) => values.every(isUuid) && areDistinct(values),
    named: /^(message_?)?id$/i,
  },
  {
    placeholder: 'received_at',
    fits: (values) => values.every(isTime),
    named: /receive|arriv|date|time|_at$/i,
  },
  {
    placeholder: 'message',
    fits: (values) => values.every(isText) && values.length > 1 && new Set(values).size > 1,
    fitsIfNamed: (values) => values.every(isText),
    named: /text|message|body|content/i,
  },
];

/** The template of an entry. */
export function inferReceived(entries: readonly unknown[], recipient: Recipient): Inferred {
  const rows = entries.filter(isObject);
  const [first] = rows;
  const names = Object.keys(first ?? {});
  const isUniform = rows.every((row) => Object.keys(row).join() === names.join());
  if (first === undefined || rows.length < entries.length || !isUniform)
    return { template: {}, undetermined: ['its entries have different fields'] };
  const columns = new Map(names.map((name) => [name, rows.map((row) => row[name] as Json)]));
  /** Placeholders by the name of their member. */
  const placeholders = new Map<string, string>();
  for (const { placeholder, fits, fitsIfNamed, named } of roles) {
    const open = names.filter((name) => !placeholders.has(name));
    const isNamed = (name: string) => named.test(name);
    const fitting = open.filter((name) => fits(columns.get(name) ?? [], recipient));
    const fittingByName = open.filter((name) => fitsIfNamed?.(columns.get(name) ?? []));
    const member = fitting.find(isNamed) ?? fitting[0] ?? fittingByName.find(isNamed);
    if (member !== undefined) placeholders.set(member, `{${placeholder}}`);
  }
  const undetermined: string[] = [];
  const item = names.map((name) => {
    const [value = null, ...others] = columns.get(name) ?? [];
    const isConstant = others.every((other) => JSON.stringify(other) === JSON.stringify(value));
    if (!placeholders.has(name) && !isConstant)
      undetermined.push(`.${name} differs between entries`);
    return [name, placeholders.get(name) ?? value];
  });
  return { template: { body: Object.fromEntries(item) as Json }, undetermined };
}

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
 * The change of a figure shows what it is; if it did not change, its name does. Other figures are
 * left out, because a number of one day would be wrong on any other.
 */
export function inferStats(
  before: Json | undefined,
  after: Json,
  part: ComparedPart,
): Json | undefined {
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
