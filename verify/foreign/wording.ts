/**
 * The foreign server's wording of replies. Every wording is permitted: the document shows only the
 * body of a 429.
 */
import type { Mistake } from './fields.ts';
import type { Variation } from './variation.ts';
import type { Inbound } from './world.ts';

/** A reply before it is serialised. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const html = { 'content-type': 'text/html; charset=utf-8' };

export class Wording {
  readonly #variation: Variation;

  constructor(variation: Variation) {
    this.#variation = variation;
  }

  /** The content type of every reply without its own. */
  get contentType(): string {
    return this.#isFramework ? 'application/json; charset=utf-8' : 'application/json';
  }

  get #isFramework(): boolean {
    return this.#variation.errorShape === 'framework';
  }

  notFound(): Answer {
    return { status: 404, body: { detail: 'No Message matches the given query.' } };
  }

  unknownPath(path: string): Answer {
    if (!this.#isFramework) return this.notFound();
    return { status: 404, body: `<p>Cannot find ${path}.</p>`, headers: html };
  }

  wrongMethod(method: string): Answer {
    const allow = { allow: this.#isFramework ? `${method}, OPTIONS` : method };
    if (this.#isFramework) return { status: 405, body: '', headers: { ...html, ...allow } };
    return { ...this.error(405, 'method_not_allowed'), headers: allow };
  }

  noJson(): Answer {
    if (this.#isFramework) return this.error(400, 'json_invalid');
    return { status: 400, body: { detail: 'JSON parse error' } };
  }

  invalid(mistakes: readonly Mistake[]): Answer {
    const [[field, text] = ['', '']] = mistakes;
    const byField = Object.fromEntries(mistakes.map(([name, what]) => [name, [what]]));
    switch (this.#variation.errorShape) {
      case 'field_map':
        return { status: 400, body: byField };
      case 'nested':
        return { status: 400, body: { error: { code: field, message: text, fields: byField } } };
      case 'title':
        return { status: 400, body: { title: 'Invalid', code: field, errors: byField } };
      case 'framework':
        return {
          status: 400,
          body: {
            detail: mistakes.map(([name, msg]) => ({ loc: ['body', name], msg, type: 'invalid' })),
          },
        };
      case 'jsonapi':
        return {
          status: 400,
          body: {
            errors: mistakes.map(([code, detail]) => ({
              status: '400',
              code,
              title: 'Invalid Attribute',
              detail,
              source: { pointer: `/${code}` },
            })),
          },
        };
      default:
        return { status: 400, body: { code: field, detail: text } };
    }
  }

  error(status: number, code: string): Answer {
    const detail = `Refused: ${code.replaceAll('_', ' ')}.`;
    switch (this.#variation.errorShape) {
      case 'nested':
        return { status, body: { error: { code, message: detail } } };
      case 'title':
        return { status, body: { title: detail, code, type: 'about:blank' } };
      case 'framework':
        return { status, body: { detail: { code, message: detail }, status } };
      case 'jsonapi':
        return { status, body: { errors: [{ status: String(status), code, detail }] } };
      default:
        return { status, body: { code, detail } };
    }
  }

  stats(accepted: number, inbound: number): Answer {
    switch (this.#variation.errorShape) {
      case 'framework':
        return { status: 200, body: { data: { usage: { total: accepted }, plan: 'basic' } } };
      case 'jsonapi':
        return {
          status: 200,
          body: { data: { type: 'stats', attributes: { accepted, inbound, monthly: 100_000 } } },
        };
      default:
        return { status: 200, body: { sent: accepted } };
    }
  }

  list(name: string, items: readonly unknown[]): Answer {
    if (this.#variation.arrays) return { status: 200, body: items };
    const body = this.#isFramework ? { items, total: items.length } : { [name]: items };
    return { status: 200, body };
  }

  received({ id, sim, from, text, receivedAtMs }: Inbound): object {
    const at = new Date(receivedAtMs).toISOString();
    return this.#isFramework
      ? {
          uid: id,
          line: sim.id,
          sender: from,
          recipient: sim.number,
          body: text,
          at,
          channel: 'sms',
        }
      : {
          message_id: id,
          device_id: sim.id,
          from_number: from,
          to: sim.number,
          message: text,
          received_at: at,
        };
  }

  task(id: string, to: string, from: string, text: string): object {
    return this.#isFramework
      ? { id, recipient: to, sender: from, body: text, channel: 'sms' }
      : { message_id: id, to, from_number: from, message: text };
  }
}
