/**
 * Infers the template of an entry in the list of received messages, for `--discover`. The values
 * decide what a member is; its name decides only if they do not.
 */
import type { Json } from '#contract/request-and-reply.ts';
import { type Inferred, isTime, isUuid } from '#judging/discovery/infer-template.ts';
import { isObject } from '#judging/service/expectations.ts';

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
