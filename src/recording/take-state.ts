/**
 * Takes the state of a simulator at one instant. The head is taken at once. The messages follow in
 * small parts: a chunk is read when its parts are made, or copied just before it changes.
 */

import { smstwinVersion } from '../commands/version.ts';
import type { Batch } from '../sim/batch.ts';
import { rowsPerChunk } from '../sim/chunk.ts';
import type { Cohort } from '../sim/cohort.ts';
import type { WorkImage } from '../sim/device-work.ts';
import { keyPrefix } from '../sim/key-ring.ts';
import { endpointNames, replayWindowMs } from '../sim/limits.ts';
import { type Fate, isUnprompted } from '../sim/outcomes.ts';
import { type Account, type ApiKey, type Device, type FirstUse, Message } from '../sim/records.ts';
import type { World } from '../sim/world.ts';
import { sha256 } from './digest.ts';
import type { Player } from './play.ts';
import {
  messageColumns,
  type SavedAccount,
  type SavedCohort,
  type SavedDevice,
  type SavedFate,
  type SavedMessages,
  type SavedUse,
  type Snapshot,
  type StateHead,
  type StatePart,
  stateFormat,
} from './state-format.ts';

/** The parts of a simulator whose state is saved. */
type Saved = Pick<Player, 'simulation' | 'wallClock'>;

type Chunk = World['messages']['chunks'][number];

/** Messages in one part: reading them takes about a millisecond. */
const rowsPerPart = 512;

/** Equal states give equal snapshots: lists follow the order of the messages. */
export function takeSnapshot(saved: Saved): Snapshot {
  const { world } = saved.simulation;
  const cohorts = new Set<Cohort>();
  const removed = new Set<Device>();
  for (const { cohort, device } of world.messages.values()) {
    cohorts.add(cohort);
    if (device.isRemoved) removed.add(device);
  }
  const image = new StateImage(saved, cohorts, removed);
  return { ...image.head, messages: image.messages, members: image.members, ...image.alone };
}

/** Batches of one device and row: polls handle them like one. */
type Group = Omit<StateHead['batches'][number], 'cohorts'> & {
  readonly batches: readonly Batch<Message>[];
};

/** The state at the instant when it is made. */
export class StateImage {
  readonly head: StateHead;
  /** Messages that wait in no batch. */
  readonly alone: Required<Pick<StatePart, 'held' | 'paced'>>;
  /** Indexes into the lists of the head, by the slots that the columns hold. */
  readonly #accounts: ReadonlyMap<number, number>;
  readonly #devices: ReadonlyMap<number, number>;
  readonly #cohorts: ReadonlyMap<number, number>;
  /** Chunks whose parts have not all been made. */
  readonly #chunks: Set<Chunk>;
  /** Copies of those chunks that have changed since then. */
  readonly #copies = new Map<Chunk, Chunk>();
  readonly #groups: readonly Group[];
  readonly #members: readonly (readonly Iterable<Float64Array>[])[];

  /**
   * `cohorts` and `removed`: all that a message refers to; removed SIMs without messages are left
   * out.
   */
  constructor(saved: Saved, cohorts: Iterable<Cohort>, removed: Iterable<Device>) {
    const { world } = saved.simulation;
    const { messages: store } = world;
    const accounts = [...world.accounts.values()];
    const devices = [...new Set([...world.devices.values(), ...removed, ...receivedBy(accounts)])];
    this.#accounts = placesBySlot(accounts);
    this.#devices = placesBySlot(devices);
    const images = devices.map(({ work }) => work.image);
    this.#groups = images.flatMap(groupsOf);
    this.#members = this.#groups.map(({ batches }) => batches.map(({ arrivals }) => arrivals));
    this.alone = {
      held: images.flatMap(({ held }, device) => {
        const arrivals = held.alone.map(({ arrival }) => arrival);
        return arrivals.length === 0 ? [] : [{ device, arrivals }];
      }),
      paced: images.flatMap(({ paced }, device) =>
        paced.map(({ message: { arrival }, from, dueAtMs }) => ({
          device,
          arrival,
          from,
          due_at_ms: dueAtMs,
        })),
      ),
    };
    const rows: SavedCohort[] = [];
    this.#cohorts = this.#addCohorts(cohorts, rows);
    this.head = {
      ...headOf(saved),
      accounts: accounts.map((account) => accountOf(account, world.now())),
      devices: devices.map(deviceOf),
      cohorts: rows,
      batches: this.#groups.map(({ batches, ...group }) => {
        const places = batches
          .flatMap(({ cohorts: all }) => all)
          .flatMap(({ slot }) => this.#cohorts.get(slot) ?? []);
        // The cohorts of a batch move together. Their order tells when each was made, which no reply
        // depends on and a restored batch does not know.
        return { ...group, cohorts: [...new Set(places)].sort((a, b) => a - b) };
      }),
    };
    this.#chunks = new Set(store.chunks);
  }

  /** From now on, copies each chunk before it changes. Call `release` when no part is needed. */
  hold(): void {
    for (const chunk of this.#chunks) {
      chunk.onChange = () => this.#copies.set(chunk, chunk.copy());
    }
  }

  release(): void {
    for (const chunk of this.#chunks) this.#letGo(chunk);
  }

  /** Everything after the head. Makes each part when it is read. */
  *parts(): Generator<StatePart> {
    yield* this.#messageParts();
    for (const [batch, lists] of this.#members.entries()) {
      for (const blocks of lists) {
        for (const block of blocks) yield { members: [{ batch, arrivals: [...block] }] };
      }
    }
    yield this.alone;
  }

  /** The messages that wait in batches now. The parts may list more: a batch drops them late. */
  get members(): Snapshot['members'] {
    return this.#groups.map(({ batches }, batch) => ({
      batch,
      arrivals: batches.flatMap((each) =>
        each.membersOf(each.cohorts).map(({ arrival }) => arrival),
      ),
    }));
  }

  /** All messages now. */
  get messages(): SavedMessages {
    const messages = noMessages();
    for (const chunk of this.#chunks) this.#addRows(messages, chunk, 0, rowsPerChunk);
    return messages;
  }

  *#messageParts(): Generator<StatePart> {
    for (const chunk of this.#chunks) {
      for (let row = 0; row >= 0; ) {
        const messages = noMessages();
        // The chunk may change between two parts.
        row = this.#addRows(messages, this.#copies.get(chunk) ?? chunk, row, rowsPerPart);
        yield { messages };
      }
      this.#letGo(chunk);
    }
  }

  /** Cohorts that move alike become one. Returns their places in `rows` by their slots. */
  #addCohorts(cohorts: Iterable<Cohort>, rows: SavedCohort[]): Map<number, number> {
    const groups = new Map<unknown, number>();
    for (const [place, { batches }] of this.#groups.entries()) {
      for (const batch of batches) groups.set(batch, place);
    }
    const places = new Map<string, number>();
    const bySlot = new Map<number, number>();
    for (const cohort of cohorts) {
      const account = cohort.account as Account;
      const row: SavedCohort = {
        account: this.#accounts.get(account.slot) ?? 0,
        unbatched: account.unbatched === cohort,
        fate: cohort.fate === undefined ? null : fateOf(cohort.fate),
        status: cohort.status,
        sending_at_ms: cohort.sendingAtMs,
        sent_at_ms: cohort.sentAtMs,
        ended_at_ms: cohort.endedAtMs,
        failure_reason: cohort.failureReason ?? null,
        due_poll: cohort.duePoll,
        batch: groups.get(cohort.batch) ?? null,
      };
      const text = JSON.stringify(row);
      let place = places.get(text);
      if (place === undefined) {
        place = rows.push(row) - 1;
        places.set(text, place);
      }
      bySlot.set(cohort.slot, place);
    }
    return bySlot;
  }

  /** Adds at most `most` messages, from row `first` on. Returns the row of the next one, or -1. */
  #addRows(messages: SavedMessages, chunk: Chunk, first: number, most: number): number {
    const { columns } = chunk;
    let row = chunk.firstRowFrom(first);
    for (let added = 0; row >= 0 && added < most; added++) {
      const message = new Message(chunk, row);
      const { fate, sender, sendAtMs } = message;
      const place = chunk.placeOf(row);
      const at = messages.message_id.push(message.messageId) - 1;
      messages.account.push(this.#accounts.get(columns.account[place] as number) ?? 0);
      messages.device.push(this.#devices.get(columns.device[place] as number) ?? 0);
      messages.key.push(columns.key[place] as number);
      messages.cohort.push(this.#cohorts.get(columns.cohort[place] as number) ?? 0);
      messages.endpoint.push(columns.endpointAt(place));
      messages.request_id.push(message.requestId);
      messages.to.push(message.to);
      messages.text.push(message.text);
      messages.created_at_ms.push(message.createdAtMs);
      messages.arrival.push(message.arrival);
      if (sendAtMs > 0) messages.send_at_ms.push([at, sendAtMs]);
      if (fate !== undefined) messages.fate.push([at, fateOf(fate)]);
      if (sender !== '') messages.sender.push([at, sender]);
      row = chunk.firstRowFrom(row + 1);
    }
    return row;
  }

  #letGo(chunk: Chunk): void {
    chunk.onChange = undefined;
    this.#copies.delete(chunk);
    this.#chunks.delete(chunk);
  }
}

function noMessages(): SavedMessages {
  return Object.fromEntries(messageColumns.map((name) => [name, []])) as unknown as SavedMessages;
}

function groupsOf({ ready, inFlight, held }: WorkImage<Message>, device: number): Group[] {
  // A batch without messages still counts: its device wakes for the next poll.
  const group = (row: Group['row'], batches: readonly Batch<Message>[], end = 0): Group[] =>
    batches.length === 0 ? [] : [{ device, row, ends_at_ms: end, batches }];
  return [
    ...group('ready', ready),
    ...group('in_flight', inFlight),
    ...held.together.flatMap(([end, batch]) => group('held', [batch], end)),
  ];
}

function placesBySlot(items: readonly { readonly slot: number }[]): Map<number, number> {
  return new Map(items.map(({ slot }, place) => [slot, place]));
}

/** Removed SIMs that an inbound message still names. */
function receivedBy(accounts: readonly Account[]): Device[] {
  return accounts.flatMap(({ received }) =>
    received.map(({ device }) => device).filter(({ isRemoved }) => isRemoved),
  );
}

/** Everything in the head except accounts, devices, cohorts and batches. */
function headOf({
  simulation,
  wallClock,
}: Saved): Omit<StateHead, 'accounts' | 'devices' | 'cohorts' | 'batches'> {
  const { clock, world, limiter, faults, fleet } = simulation;
  const { arrivals, poolIds, names } = world.counters;
  const { forgottenMessages, forgottenRequestIds } = world.messages.retention;
  return {
    snapshot: stateFormat,
    smstwin: smstwinVersion(),
    seed: world.seed,
    clock: { now_ms: clock.now(), mode: wallClock.mode, rate: wallClock.scaledRate },
    enforces_quotas: world.enforcesQuotas,
    assumptions: world.assumptions,
    outcomes: [...world.outcomes.list] as StateHead['outcomes'],
    limiter: Object.fromEntries(
      endpointNames.map((name) => {
        const { limit, turnedAtMs, recent, older } = limiter.stateOf(name);
        return [name, { limit, turned_at_ms: turnedAtMs, recent, older }];
      }),
    ) as StateHead['limiter'],
    faults: {
      created: faults.created,
      list: faults.list.map(({ state }) => state) as unknown as StateHead['faults']['list'],
    },
    counters: {
      arrivals,
      pool_ids: [...poolIds],
      names: names.map(([name, count]) => [name, count]),
    },
    retention: {
      forgotten_messages: forgottenMessages,
      forgotten_request_ids: forgottenRequestIds,
    },
    awake: fleet.inWakeOrder().map(({ deviceId }) => deviceId),
  };
}

function accountOf(account: Account, nowMs: number): SavedAccount {
  const { ids, fates, paces } = account;
  return {
    account_id: account.accountId,
    name: account.name,
    monthly_quota: account.monthlyQuota ?? null,
    chance: { ids: [...ids.state], fates: [...fates.state], paces: [...paces.state] },
    keys: account.keys.map(keyOf),
    received: account.received.map(({ messageId, device, from, message, receivedAtMs }) => ({
      message_id: messageId,
      device_id: device.deviceId,
      from,
      message,
      received_at_ms: receivedAtMs,
    })),
    replays: [...account.replays.entries()]
      .flatMap((use) => usesOf(use, nowMs))
      .sort((a, b) => a.at_ms - b.at_ms),
    forgotten: { ...account.forgotten },
    quota: account.quota.state,
  };
}

function keyOf(key: ApiKey): SavedAccount['keys'][number] {
  return {
    key_id: key.keyId,
    name: key.name,
    sha256: key.digest?.sha256 ?? sha256(key.key),
    prefix: keyPrefix(key),
    created_at_ms: key.createdAtMs,
    revoked_at_ms: key.revokedAtMs ?? null,
  };
}

/** A use and the earlier, unexpired uses of the same id in other scopes, oldest first. */
function usesOf(newest: FirstUse, nowMs: number): SavedUse[] {
  const uses: SavedUse[] = [];
  for (let use: FirstUse | undefined = newest; use !== undefined; use = use.older) {
    if (nowMs - use.atMs > replayWindowMs) continue;
    const { outcome } = use;
    uses.unshift({
      request_id: use.requestId,
      key_id: use.key.keyId,
      endpoint: use.endpoint,
      at_ms: use.atMs,
      message_id: 'messageId' in outcome ? outcome.messageId : null,
      refusal: 'messageId' in outcome ? null : outcome,
    });
  }
  return uses;
}

function deviceOf(device: Device): SavedDevice {
  return {
    device_id: device.deviceId,
    number: device.number,
    account_id: device.account?.accountId ?? null,
    first_poll_at_ms: device.firstPollAtMs,
    connected: device.connected,
    active: device.active,
    polling: device.polling,
    allowed: device.allowed,
    ...(device.isRemoved && { removed: true as const }),
    poll_count: device.isRemoved ? 0 : device.work.pollCount,
  };
}

function fateOf(fate: Fate): SavedFate {
  const { ends, in: status = null, polls } = fate;
  return { ends, in: status, polls, unprompted: isUnprompted(fate) };
}
