/**
 * The names that the client's own file gives to its intents, and the intents of a record by these
 * names. The file names an intent by the `request_id`s of its sends.
 */
import { getOrAdd } from '#io/grouped.ts';
import { senderNumberOf } from '../evidence/exchange.ts';
import { type ClientExchange, recipientAndTextOf } from './exchange.ts';
import { type GatheredIntent, isOver } from './gathered-intents.ts';
import { linesOf, type ReportedIntent, reportedContentOf } from './intents-file.ts';

/** The names that the file gives to one `request_id`. */
interface NamesOfId {
  latest: string;
  /** True if no two lines give the id different names. */
  isUnambiguous: boolean;
  /** The name by each key of `matchKeys`. */
  readonly byMatchKey: Map<string, string>;
}

/**
 * The names that the client's own file gives to its sends, by `request_id`. If two lines give one id
 * two names (two accounts may use one id), the line that is most like the send decides.
 */
export class IntentNames {
  readonly #ids = new Map<string, NamesOfId>();

  constructor(reports: readonly ReportedIntent[] = []) {
    for (const line of reports.flatMap(linesOf)) this.#add(line);
  }

  /** The name of a send with this `request_id`; undefined if no line has the id. */
  of(send: ClientExchange, id: string): string | undefined {
    const names = this.#ids.get(id);
    if (names === undefined || names.isUnambiguous) return names?.latest;
    const keys = matchKeys(send.fields?.['to'], senderNumberOf(send), send.fields?.['message']);
    const closest = keys.find((key) => names.byMatchKey.has(key));
    return closest === undefined ? names.latest : names.byMatchKey.get(closest);
  }

  #add({ intent, to, from, message, request_id: id }: ReportedIntent): void {
    if (id === undefined) return;
    const names = getOrAdd<string, NamesOfId>(this.#ids, id, () => ({
      latest: intent,
      isUnambiguous: true,
      byMatchKey: new Map(),
    }));
    if (names.latest !== intent) names.isUnambiguous = false;
    names.latest = intent;
    for (const key of matchKeys(to, from, message)) names.byMatchKey.set(key, intent);
  }
}

/** The closest match first: all fields, then all but the sender, then the sender alone. */
function matchKeys(to: unknown, from: unknown, message: unknown): readonly string[] {
  return [
    reportedContentOf(to, from, message),
    reportedContentOf(to, undefined, message),
    reportedContentOf(undefined, from, undefined),
  ];
}

/** The intents to which the client's file gives one name. */
interface NamedIntents {
  /** The number of the last send in the record whose id has the name. */
  lastNumber: number;
  /** The intent that got the name last; undefined before the first send with the name. */
  latest: GatheredIntent | undefined;
  readonly ids: Set<string>;
  readonly byRecipientAndText: Map<string, GatheredIntent>;
}

/** Intents by the names that the client's file gives to their ids. */
export class IntentsByName {
  readonly names: IntentNames;
  readonly #named = new Map<string, NamedIntents>();

  constructor(reports: readonly ReportedIntent[] | undefined) {
    this.names = new IntentNames(reports);
  }

  /** Takes each send of the record once, before the first is grouped. */
  noteSend(send: ClientExchange, id: string): void {
    const named = this.#namedOf(send, id);
    if (named !== undefined) named.lastNumber = send.number;
  }

  /**
   * The intent with the name of the id. `mayDiffer`: the id may already have been used for another
   * message. Then, and if two accounts use the id, only an equal message proves the intent.
   */
  intentFor(send: ClientExchange, id: string, mayDiffer: boolean): GatheredIntent | undefined {
    const named = this.#namedOf(send, id);
    const same = named?.byRecipientAndText.get(recipientAndTextOf(send));
    if (same !== undefined && !isOver(same, send)) return same;
    if (named?.latest === undefined || isOver(named.latest, send)) return undefined;
    return mayDiffer || named.ids.has(id) ? undefined : named.latest;
  }

  record(intent: GatheredIntent, send: ClientExchange, id: string): void {
    const named = this.#namedOf(send, id);
    if (named === undefined) return;
    intent.name = this.names.of(send, id);
    named.latest = intent;
    named.ids.add(id);
    named.byRecipientAndText.set(recipientAndTextOf(send), intent);
  }

  /** The number of the last send in the record whose id has the name; 0 without one. */
  lastNumberOf(name: string | undefined): number {
    return name === undefined ? 0 : (this.#named.get(name)?.lastNumber ?? 0);
  }

  #namedOf(send: ClientExchange, id: string): NamedIntents | undefined {
    const name = this.names.of(send, id);
    if (name === undefined) return undefined;
    return getOrAdd<string, NamedIntents>(this.#named, name, () => ({
      lastNumber: 0,
      latest: undefined,
      ids: new Set(),
      byRecipientAndText: new Map(),
    }));
  }
}
