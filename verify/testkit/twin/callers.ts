/**
 * The callers of a compared run, and what each of them has. A step names a caller by its index
 * (`who`), and its keys, SIMs and messages by a position in a list. Also has what the world of every
 * run contains.
 */
import type { ReferenceModel } from '../../model/reference-model.ts';
import type { Outcome } from '../../model/reference-world.ts';
import type { SendPath } from './request.ts';

/** The callers' names: the first has two SIMs, the second one SIM, the third none. */
export const names = ['ada', 'bert', 'cora'];
export const accountCount = names.length;

/** The last position by which a step names a thing; positions wrap around a shorter list. */
export const lastPosition = 7;

/** The numbers of the pool in every run. */
export const poolNumbers: readonly string[] = ['+12025550190', '+12025550191'];

/** The scripted recipients that every world has, written down again: the model shares no code. */
export const scriptedFates: readonly Outcome[] = [
  ...(['queued', 'sending', 'sent'] as const).flatMap((status, index): Outcome[] => [
    { to: `+1202555016${index}`, ends: 'failed', in: status, polls: 1 },
    { to: `+1202555016${index + 3}`, ends: 'stuck', in: status, polls: 1 },
  ]),
  { to: '+12025550166', ends: 'delivered', polls: 3 },
  ...[
    'quota_exceeded',
    'from_number_not_found',
    // With a double d, as the document has it.
    'from_number_access_deniedd',
    'device_inactive',
    'throttled',
  ].map((refuse, index): Outcome => {
    return { to: `+1202555017${index}`, ends: 'delivered', polls: 1, refuse };
  }),
];

interface Caller {
  readonly accountId: string;
  /** Sends that a later step may repeat. */
  readonly sends: { via: SendPath; body: string }[];
  lastRefusal: { atMs: number; retryAfterSeconds: number } | undefined;
}

export class Callers {
  readonly #model: ReferenceModel;
  readonly #all: Caller[] = [];

  constructor(model: ReferenceModel) {
    this.#model = model;
  }

  add(accountId: string): void {
    this.#all.push({ accountId, sends: [], lastRefusal: undefined });
  }

  ownerOf({ accountId }: { readonly accountId: string }): number {
    return this.#all.findIndex((caller) => caller.accountId === accountId);
  }

  of(who: number): Caller {
    const caller = this.#all[who];
    if (caller === undefined) throw new Error(`no caller ${who}`);
    return caller;
  }

  nameOf(who: number): string {
    return names[who] ?? 'a stranger';
  }

  /** The keys of an account, in order of creation. */
  keysOf(who: number) {
    const { accountId } = this.of(who);
    return this.#model.keys.filter((each) => each.accountId === accountId);
  }

  validKeysOf(who: number): readonly string[] {
    return this.keysOf(who)
      .filter(({ revoked }) => !revoked)
      .map(({ key }) => key);
  }

  /** The key at a position among the valid ones; at `lastPosition`, among all. */
  keyAt(who: number, position: number): string {
    const allKeys = this.keysOf(who).map(({ key }) => key);
    const keys = position === lastPosition ? allKeys : this.validKeysOf(who);
    return itemAt(keys, position) ?? 'none';
  }

  /** The SIMs of an account; the pool's for the index after the last account. */
  simsOf(who: number) {
    const accountId = this.#all[who]?.accountId;
    return this.#model.sims.filter((sim) => sim.accountId === accountId);
  }

  messagesOf(who: number) {
    const { accountId } = this.of(who);
    return this.#model.messages.filter((each) => each.accountId === accountId);
  }
}

export function itemAt<T>(items: Iterable<T>, position: number): T | undefined {
  const list = [...items];
  return list[position % list.length];
}
