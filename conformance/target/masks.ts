/**
 * Masks keys in what reports show. It does so when an exchange is recorded, before any report reads
 * it, so that no report can show a key by mistake.
 */
import { anyOf } from '#judging/evidence/reading.ts';
import type { Outcome, ReportedExchange, RequestOptions } from '#judging/evidence/reply.ts';

/** Longer bodies are cut in the record. Judges use the complete reply. */
const longestBody = 4_096;
/** Shorter secrets are not masked: they occur in other words by chance. */
const shortestSecret = 4;

export class Masks {
  /** What to show instead, by key. */
  readonly #secrets = new Map<string, string>();
  /** The lengths of all secrets, the longest first: a secret may begin with another one. */
  #lengths: readonly number[] = [];
  /** The first characters of all secrets: few, as the keys of a service begin alike. */
  readonly #starts = new Set<string>();
  /** Finds any start. To find any of hundreds of secrets costs more, as each new one changes how. */
  #anyStart: RegExp | undefined;

  /** Masks this key in all further records, in any letter case. */
  hide(key: string): void {
    if (key.length < shortestSecret) return;
    const prefix = shownStart(key);
    const startsBefore = this.#starts.size;
    for (const form of [key, key.toLowerCase(), key.toUpperCase()]) {
      this.#secrets.set(form, prefix);
      this.#starts.add(form.slice(0, shortestSecret));
      if (!this.#lengths.includes(form.length))
        this.#lengths = [...this.#lengths, form.length].sort((one, other) => other - one);
    }
    if (this.#starts.size > startsBefore) this.#anyStart = anyOf([...this.#starts]);
  }

  /** The text without full keys. */
  clean(text: string): string {
    const start = this.#anyStart;
    if (start === undefined) return text;
    let cleaned = '';
    let from = 0;
    start.lastIndex = 0;
    while (start.test(text)) {
      const at = start.lastIndex - shortestSecret;
      const length = this.#lengths.find((one) => this.#secrets.has(text.slice(at, at + one)));
      start.lastIndex = at + (length ?? 1);
      if (length === undefined) continue;
      cleaned += text.slice(from, at) + this.#secrets.get(text.slice(at, at + length));
      from = at + length;
    }
    return from === 0 ? text : cleaned + text.slice(from);
  }

  /** The exchange for reports. Masks before it cuts: half a key would not be found. */
  record(
    baseUrl: string,
    sent: RequestOptions,
    received: Outcome,
    durationMs: number,
  ): ReportedExchange {
    const { method, path, headers = {}, body } = sent;
    const { status, failure } = received;
    const masked = (all: Readonly<Record<string, string>>) =>
      Object.fromEntries(
        Object.entries(all).map(([name, value]) => [
          name,
          name.toLowerCase() === 'authorization' ? maskCredential(value) : this.clean(value),
        ]),
      );
    return {
      method,
      url: this.clean(baseUrl.replace(/\/$/, '') + path),
      requestHeaders: masked(headers),
      ...(body !== undefined && { requestBody: cut(this.clean(body)) }),
      status,
      replyHeaders: masked(received.headers),
      replyBody: cut(this.clean(received.text)),
      ...(failure !== undefined && { failure: this.clean(failure) }),
      durationMs,
    };
  }
}

/** Keeps the scheme, such as `Bearer`, and the start of the credential. */
function maskCredential(value: string): string {
  const space = value.indexOf(' ');
  const scheme = space < 0 ? '' : value.slice(0, space + 1);
  return `${scheme}${shownStart(value.slice(space + 1))}`;
}

/** What reports show of a secret: at most a quarter of it, and at most six characters. */
function shownStart(secret: string): string {
  return `${secret.slice(0, Math.min(6, Math.floor(secret.length / 4)))}…`;
}

/** Shortens a text. Makes a copy, because a slice would keep the whole text in memory. */
function cut(text: string): string {
  if (text.length <= longestBody) return text;
  return `${Buffer.from(text.slice(0, longestBody)).toString()}… (cut)`;
}
