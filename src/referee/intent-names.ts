/**
 * The names that the client's own file gives to its sends, by `request_id`. Where two lines give one
 * id two names, as two accounts may, the line whose content is closest to the send's decides.
 */
import { type Exchange, senderOf } from './exchange.ts';
import type { Report } from './intents-file.ts';

/** The names of one id. */
interface Named {
  latest: string;
  isSole: boolean;
  /** By what a line says: first all of it, then without the sender, then the sender alone. */
  readonly byText: Map<string, string>;
}

export class IntentNames {
  readonly #ids = new Map<string, Named>();

  constructor(reports: readonly Report[] = []) {
    for (const report of reports) {
      for (const line of report.lines ?? [report]) this.#add(line);
    }
  }

  of(send: Exchange, id: string): string | undefined {
    const named = this.#ids.get(id);
    if (named === undefined || named.isSole) return named?.latest;
    const texts = textsOf(send.body?.['to'], senderOf(send), send.body?.['message']);
    const text = texts.find((one) => named.byText.has(one));
    return named.byText.get(text ?? '') ?? named.latest;
  }

  #add({ intent, to, from, message, request_id: id }: Report): void {
    if (id === undefined) return;
    const named = this.#ids.get(id) ?? { latest: intent, isSole: true, byText: new Map() };
    this.#ids.set(id, named);
    if (named.latest !== intent) named.isSole = false;
    named.latest = intent;
    for (const text of textsOf(to, from, message)) named.byText.set(text, intent);
  }
}

function textsOf(to: unknown, from: unknown, message: unknown): readonly string[] {
  return [[to, from, message], [to, message], [from]].map((part) => JSON.stringify(part));
}
