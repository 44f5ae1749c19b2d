/**
 * Finds the intents of a record that the reports in the client's intents file are about: by the
 * name of the intent if the report and a send have a `request_id`, otherwise by recipient, sender
 * and text.
 */
import { type Exchange, requestIdOf, senderOf } from './exchange.ts';
import type { Intent } from './intents.ts';
import { IntentNames, type Report } from './intents-file.ts';

/** Indexes of intents in the record, by a key. */
class IntentIndexes {
  readonly #indexes = new Map<string, Set<number>>();

  add(key: string, index: number): void {
    this.#indexes.set(key, (this.#indexes.get(key) ?? new Set()).add(index));
  }

  of(key: string): ReadonlySet<number> {
    return this.#indexes.get(key) ?? new Set();
  }
}

export class ReportedIntents {
  readonly #intents: readonly Intent[];
  readonly #byName = new IntentIndexes();
  readonly #byContent = new IntentIndexes();
  /** By the content of an attempt without a `request_id`. */
  readonly #byContentWithoutId = new IntentIndexes();

  constructor(intents: readonly Intent[], reports: readonly Report[]) {
    this.#intents = intents;
    const names = new IntentNames(reports);
    for (const [index, { attempts }] of intents.entries()) {
      for (const attempt of attempts) {
        const id = requestIdOf(attempt);
        const name = id === undefined ? undefined : names.of(attempt, id);
        const content = contentOfSend(attempt);
        this.#byContent.add(content, index);
        if (id === undefined) this.#byContentWithoutId.add(content, index);
        else if (name !== undefined) this.#byName.add(name, index);
      }
    }
  }

  /** The intents of these reports, in the order of the record. */
  of(reports: readonly Report[]): readonly Intent[] {
    // Many reports may share one set of indexes: merging each set once keeps this linear.
    const sets = new Set(reports.flatMap((report) => this.#indexesOf(report)));
    const indexes = new Set([...sets].flatMap((set) => [...set]));
    return [...indexes].sort((a, b) => a - b).flatMap((index) => this.#intents[index] ?? []);
  }

  #indexesOf(report: Report): readonly ReadonlySet<number>[] {
    const content = contentOfReport(report);
    return report.request_id === undefined
      ? [this.#byContent.of(content)]
      : [this.#byName.of(report.intent), this.#byContentWithoutId.of(content)];
  }
}

export function contentOfReport({ to, from, message }: Report): string {
  return JSON.stringify([to, from, message]);
}

function contentOfSend(send: Exchange): string {
  return JSON.stringify([send.body?.['to'], senderOf(send), send.body?.['message']]);
}
