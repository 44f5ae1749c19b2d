/** Names for API keys, which stand for them wherever an exchange shows them. */
import { sha256 } from '#io/digest.ts';
import { plainAddress, plainJson } from './reading.ts';

/** The form of the service's keys, so that a key is found although no header has it. */
const drawnKey = /\bsmst_[A-Za-z0-9]{40}\b/g;

export class KeyNames {
  readonly #names = new Map<string, string>();

  /** The header with a name for its key. */
  named(credential: string): string {
    return credential.replace(/(\S+)$/, (key) => this.#nameOf(key));
  }

  /** The names that it has given. */
  get names(): Iterable<string> {
    return this.#names.values();
  }

  /** The text of a body, with names for all keys that it shows, also behind escapes. */
  hiddenIn(text: string): string {
    return this.#hidden(text, plainJson(text));
  }

  /** The same of a path or a query. */
  hiddenInAddress(text: string): string {
    return this.#hidden(text, plainAddress(text));
  }

  /** `plain`: the text without escapes. */
  #hidden(text: string, plain: string): string {
    let hidden = plain;
    for (const [key, name] of this.#names)
      if (hidden.includes(key)) hidden = hidden.replaceAll(key, name);
    if (hidden.includes('smst_')) hidden = hidden.replaceAll(drawnKey, (key) => this.#nameOf(key));
    return hidden === plain ? text : hidden;
  }

  #nameOf(key: string): string {
    const name = this.#names.get(key) ?? nameOf(key);
    this.#names.set(key, name);
    return name;
  }
}

/** How a key is named. Recordings, which hold no keys, have such names. */
function nameOf(key: string): string {
  return `key:${sha256(key).slice(0, 12)}`;
}
