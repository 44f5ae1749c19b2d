/**
 * The interface of a journal, and the journal in memory. A journal records the inputs of a run
 * (requests and operations), so that the run can be replayed. The one in memory keeps the inputs
 * since the start or the last reset. Above its bound it drops all of them, because a part of a run
 * cannot be replayed. `journal-writer.ts` records in a file.
 */
import { isoTime } from '#contract/time.ts';
import { type EndedEntry, type Entry, entryIn } from '#judging/evidence/journal-entry.ts';
import { lineOf, parseJournalLine } from '#judging/evidence/journal-line.ts';
import type { Settings } from '../../config/settings.ts';
import { conflict } from '../../sim/errors.ts';
import { RecordedExchange } from '../recorded-exchange.ts';
import { headerOf, type JournalHeader } from './journal-header.ts';
import type { RecordedRun } from './journal-lines.ts';
import { requestLine } from './request-line.ts';

/** The bounds of a journal in memory: inputs, and characters of their texts. */
export const rememberedInputs = 10_000;
export const rememberedCharacters = 16 * 1024 * 1024;

export interface Journal {
  /** True while it keeps the exchange objects that it is given: they must then not be reused. */
  readonly keepsExchanges: boolean;
  /** Why inputs can no longer be recorded; each of them is then answered by an error. */
  readonly failure?: string | undefined;
  /** True if each call writes to a file: the requests of one turn then share one call. */
  readonly isFile?: boolean;
  /** Records requests, or throws. */
  requests(exchanges: readonly RecordedExchange[]): void;
  /** Records the end of a delayed reply. The caller has recorded all requests before it. */
  ended(entry: EndedEntry): void;
  /** `result`: its digest, or the code of a refusal. Requests before it are recorded. */
  operation(atMs: number, operation: string, args: readonly unknown[], result: string): void;
  /** The run as NDJSON: from the start, or from the last checkpoint. */
  text(): string;
  /** The run of `text`, entry by entry. */
  run(): RecordedRun;
  close(): Promise<void>;
}

export class MemoryJournal implements Journal {
  readonly #settings: Settings;
  #header: JournalHeader;
  #inputs: (Entry | RecordedExchange)[] = [];
  /** Characters of `#inputs`. */
  #characters = 0;
  /** False above the bound, until the next reset. */
  keepsExchanges = true;

  constructor(settings: Settings, startedAtMs: number) {
    this.#settings = settings;
    this.#header = headerOf(settings, startedAtMs);
  }

  requests(exchanges: readonly RecordedExchange[]): void {
    for (const exchange of exchanges)
      if (this.keepsExchanges) this.#keep(exchange, exchange.characters);
  }

  ended(entry: EndedEntry): void {
    if (this.keepsExchanges) this.#keep(entry, 0);
  }

  operation(atMs: number, operation: string, args: readonly unknown[], result: string): void {
    if (operation === 'reset') this.#restart(Number(args[0]));
    else if (this.keepsExchanges) {
      const text = JSON.stringify(args);
      const copied = JSON.parse(text) as unknown[];
      this.#keep({ at: isoTime(atMs), operation, args: copied, result }, text.length);
    }
  }

  text(): string {
    this.#checkComplete();
    const lines = this.#inputs.map((input) =>
      input instanceof RecordedExchange ? requestLine(input) : lineOf(input),
    );
    return [lineOf(this.#header), ...lines].join('');
  }

  run(): RecordedRun {
    this.#checkComplete();
    const inputs = [...this.#inputs];
    return {
      name: 'the journal in memory',
      header: lineOf(this.#header).trimEnd(),
      entries: { [Symbol.iterator]: () => entriesIn(inputs) },
    };
  }

  #checkComplete(): void {
    if (this.keepsExchanges) return;
    throw conflict(
      `too long for memory, which keeps ${rememberedInputs} inputs since the last reset: ` +
        'start with --journal FILE',
    );
  }

  async close(): Promise<void> {}

  #keep(input: Entry | RecordedExchange, characters: number): void {
    this.#inputs.push(input);
    this.#characters += characters;
    if (this.#inputs.length <= rememberedInputs && this.#characters <= rememberedCharacters) return;
    this.keepsExchanges = false;
    this.#inputs = [];
  }

  /** A reset restores the start state, so the recorded run begins anew. */
  #restart(startedAtMs: number): void {
    this.#header = headerOf(this.#settings, startedAtMs);
    this.#inputs = [];
    this.#characters = 0;
    this.keepsExchanges = true;
  }
}

function* entriesIn(inputs: readonly (Entry | RecordedExchange)[]): Generator<Entry> {
  for (const input of inputs) {
    if (!(input instanceof RecordedExchange)) yield input;
    else yield entryIn(parseJournalLine(requestLine(input).trimEnd())) as Entry;
  }
}
