/**
 * What limiters say about themselves in headers: each form is read into the same few numbers, which
 * `said.ts` compares with what then happened.
 */
import { type Item, parseDictionary, parseList } from 'structured-headers';
import type { AuditedExchange } from './run.ts';

/** What one reply says. */
export interface Saying {
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  /** Milliseconds after the reply until requests pass again, or all has come back. */
  readonly resetMs?: number | undefined;
  readonly windowMs?: number | undefined;
}

/** A kind of fields: `names` is for people. */
interface FieldKind {
  readonly name: string;
  /** Undefined without such fields, and `unreadable` if they cannot be understood. */
  readonly read: (exchange: AuditedExchange) => Saying | 'unreadable' | undefined;
}

export const fieldKinds: readonly FieldKind[] = [
  { name: 'RateLimit', read: structured('ratelimit', rateLimit) },
  { name: 'RateLimit-Policy', read: structured('ratelimit-policy', policy) },
  { name: 'RateLimit-*', read: separate('ratelimit') },
  { name: 'X-RateLimit-*', read: separate('x-ratelimit') },
];

function structured(name: string, read: (text: string) => Saying | undefined): FieldKind['read'] {
  return ({ headers }) => {
    const text = headers[name];
    if (text === undefined) return undefined;
    try {
      return read(text) ?? 'unreadable';
    } catch {
      return 'unreadable';
    }
  };
}

/** `limit=120, remaining=3, reset=9` of the seventh draft, `"name";r=3;t=9` of the later ones. */
function rateLimit(text: string): Saying | undefined {
  if (/^\s*\w+=/.test(text)) {
    const fields = parseDictionary(text);
    const numberOf = (name: string) => numeric(fields.get(name)?.[0]);
    const [limit, remaining] = [numberOf('limit'), numberOf('remaining')];
    return { limit, remaining, resetMs: milliseconds(numberOf('reset')) };
  }
  const [item] = parseList(text) as Item[];
  const remaining = numeric(item?.[1].get('r'));
  if (remaining === undefined) return undefined;
  return { remaining, resetMs: milliseconds(numeric(item?.[1].get('t'))) };
}

/** `120;w=60`, and `"name";q=120;w=60` of the later drafts. */
function policy(text: string): Saying | undefined {
  const items = parseList(text) as Item[];
  // Several policies at once are several limits: no single number is said.
  const [item] = items;
  if (item === undefined || items.length > 1) return undefined;
  const limit = numeric(item[1].get('q')) ?? numeric(item[0]);
  return { limit, windowMs: milliseconds(numeric(item[1].get('w'))) };
}

function numeric(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** `…-Limit`, `…-Remaining` and `…-Reset`. */
function separate(prefix: string): FieldKind['read'] {
  return (exchange) => {
    const texts = ['limit', 'remaining', 'reset'].map(
      (each) => exchange.headers[`${prefix}-${each}`],
    );
    if (texts.every((text) => text === undefined)) return undefined;
    // Some limiters add the policy: `120, 120;w=60`.
    const [limit, remaining] = texts.map((text) =>
      text === undefined ? undefined : Number(text.split(/[,;]/, 1)[0]),
    );
    const resetMs = texts[2] === undefined ? undefined : resetIn(texts[2], exchange);
    const isRead = [limit, remaining, resetMs].every((each) => !Number.isNaN(each));
    return isRead ? { limit, remaining, resetMs } : 'unreadable';
  };
}

/** Later than this, in seconds, a number is an epoch: a window of thirty years is none. */
const epochSeconds = 1e9;
const epochMs = 1e12;

/** A reset in seconds from now, in seconds or milliseconds since 1970, or a date. */
function resetIn(text: string, { headers, answeredAt }: AuditedExchange): number {
  const number = Number(text);
  if (number < epochSeconds) return number * 1_000;
  const epoch = number >= epochMs ? number : number * 1_000;
  const date = Number.isNaN(number) ? Date.parse(text) : epoch;
  // The target's own clock, if it is known: its whole seconds make the wait longer, never shorter.
  const now = Date.parse(headers['date'] ?? '');
  return Math.max(0, date - (Number.isNaN(now) ? answeredAt : now));
}

/** The seconds that a refusal asks to wait; undefined without a header, NaN if it is not a wait. */
export function waitOf({ headers, answeredAt }: AuditedExchange): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^[A-Z][a-z]{2}, .* GMT$/.test(text)) return Number.NaN;
  const now = Date.parse(headers['date'] ?? '');
  return Math.max(0, (Date.parse(text) - (Number.isNaN(now) ? answeredAt : now)) / 1_000);
}
