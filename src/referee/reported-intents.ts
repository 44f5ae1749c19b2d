/**
 * Finds the intents that the lines of the client's own file report: by the name of the intent where
 * the line and a send have a `request_id`, otherwise by content.
 */
import { type Exchange, requestIdOf, senderOf } from './exchange.ts';
import type { Intent } from './intents.ts';
import { IntentNames, type Report } from './intents-file.ts';

/** Places of intents in the record, by a key. */
class Places {
  readonly #places = new Map<string, Set<number>>();

  add(key: string, place: number): void {
    this.#places.set(key, (this.#places.get(key) ?? new Set()).add(place));
  }

  of(key: string): ReadonlySet<number> {
    return this.#places.get(key) ?? new Set();
  }
}

export class ReportedIntents {
  readonly #intents: readonly Intent[];
  readonly #byName = new Places();
  readonly #byContent = new Places();
  /** By the content of an attempt without a `request_id`. */
  readonly #byBareContent = new Places();

  constructor(intents: readonly Intent[], reports: readonly Report[]) {
    this.#intents = intents;
    const names = new IntentNames(reports);
    for (const [place, { attempts }] of intents.entries()) {
      for (const attempt of attempts) {
        const id = requestIdOf(attempt);
        const name = id === undefined ? undefined : names.of(attempt, id);
        const content = contentOfSend(attempt);
        this.#byContent.add(content, place);
        if (id === undefined) this.#byBareContent.add(content, place);
        else if (name !== undefined) this.#byName.add(name, place);
      }
    }
  }

  /** The intents of these reports, in the order of the record. */
  of(reports: readonly Report[]): readonly Intent[] {
    const sources = new Set(reports.flatMap((report) => this.#placesOf(report)));
    const places = new Set([...sources].flatMap((source) => [...source]));
    return [...places].sort((a, b) => a - b).flatMap((place) => this.#intents[place] ?? []);
  }

  #placesOf(report: Report): readonly ReadonlySet<number>[] {
    const content = contentOfReport(report);
    return report.request_id === undefined
      ? [this.#byContent.of(content)]
      : [this.#byName.of(report.intent), this.#byBareContent.of(content)];
  }
}

export function contentOfReport({ to, from, message }: Report): string {
  return JSON.stringify([to, from, message]);
}

function contentOfSend(send: Exchange): string {
  return JSON.stringify([send.body?.['to'], senderOf(send), send.body?.['message']]);
}
