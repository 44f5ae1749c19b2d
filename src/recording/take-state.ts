/**
 * The state of one instant in pieces, for a checkpoint: a head that is taken at once, and pieces
 * that are made one by one as they are asked for, while the simulator goes on. Each takes
 * about two milliseconds. Together they are the snapshot of that instant.
 */
import { arrivalsOf, type FrozenBatch } from '../sim/batch.ts';
import type { FrozenWork } from '../sim/device-work.ts';
import { replayWindowMs } from '../sim/limits.ts';
import type { Device, Message } from '../sim/records.ts';
import type { Snapshot, SnapshotDevice, SnapshotMessage, SnapshotUse } from './snapshot-format.ts';
import {
  accountOf,
  deviceHead,
  headOf,
  messageOf,
  noRows,
  noWork,
  type Snapped,
} from './take-snapshot.ts';

const messagesOfPiece = 512;
const idsOfPiece = 4_096;

/** A message with the key that sent it; null where that is not known. */
type KeyedMessage = SnapshotMessage & { readonly key_id: string | null };

/** The next messages, or the next rows of a device. */
export type StatePiece =
  | { readonly messages: readonly KeyedMessage[] }
  | {
      readonly device_id: string;
      readonly row: 'held' | 'ready' | 'in_flight';
      readonly message_ids: readonly string[];
    }
  | { readonly device_id: string; readonly paced: SnapshotDevice['paced'] };

export type StateHead = Omit<Snapshot, 'messages'>;

export interface TakenState {
  readonly head: StateHead;
  /** To be read once. If not even the first is read, `release` ends it. */
  readonly pieces: Generator<StatePiece>;
  release(): void;
}

export function takeState(snapped: Snapped): TakenState {
  const { world, clock } = snapped.simulation;
  const devices = [...world.devices.values()];
  const head: StateHead = {
    ...headOf(snapped),
    accounts: Array.from(world.accounts.values(), (each) => accountOf(each, [], clock.now())),
    devices: [
      ...devices.map((device) => ({ ...deviceHead(device), ...noRows })),
      ...[...removedDevices(snapped)].map((device) => ({ ...deviceHead(device), ...noWork })),
    ],
  };
  const work = devices.map(({ deviceId, work }) => ({ deviceId, work: work.freeze() }));
  const frozen = world.messages.freeze();
  return { head, pieces: piecesOf(frozen, work), release: () => frozen.release() };
}

type Frozen = ReturnType<Snapped['simulation']['world']['messages']['freeze']>;

function* piecesOf(
  frozen: Frozen,
  works: readonly { readonly deviceId: string; readonly work: FrozenWork }[],
): Generator<StatePiece> {
  try {
    let messages: KeyedMessage[] = [];
    for (const message of frozen.messages()) {
      messages.push(keyed(message));
      if (messages.length < messagesOfPiece) continue;
      yield { messages };
      messages = [];
    }
    if (messages.length > 0) yield { messages };
    for (const { deviceId, work } of works) yield* rowsOf(frozen, deviceId, work);
  } finally {
    frozen.release();
  }
}

function keyed(message: Message): KeyedMessage {
  const key = message.account.replays.findsMessages ? message.key : undefined;
  return { ...messageOf(message), key_id: key?.keyId ?? null };
}

function* rowsOf(frozen: Frozen, deviceId: string, work: FrozenWork): Generator<StatePiece> {
  const { held, ready, inFlight, paced } = work;
  yield* idsIn(frozen, deviceId, 'held', held.together, held.alone);
  yield* idsIn(frozen, deviceId, 'ready', ready);
  yield* idsIn(frozen, deviceId, 'in_flight', inFlight);
  if (paced.length === 0) return;
  const steps = paced.map(({ arrival, from, dueAtMs }) => {
    return { message_id: frozen.idOf(arrival), from, due_at_ms: dueAtMs };
  });
  yield { device_id: deviceId, paced: steps.filter(({ message_id: id }) => id !== '') };
}

function* idsIn(
  frozen: Frozen,
  device_id: string,
  row: 'held' | 'ready' | 'in_flight',
  batches: readonly FrozenBatch[],
  others: readonly number[] = [],
): Generator<StatePiece> {
  let message_ids = others.map((arrival) => frozen.idOf(arrival)).filter((id) => id !== '');
  for (const batch of batches) {
    for (const arrival of arrivalsOf(batch, (each) => frozen.cohortOf(each))) {
      message_ids.push(frozen.idOf(arrival));
      if (message_ids.length < idsOfPiece) continue;
      yield { device_id, row, message_ids };
      message_ids = [];
    }
  }
  if (message_ids.length > 0) yield { device_id, row, message_ids };
}

function removedDevices({ simulation: { world } }: Snapped): Set<Device> {
  const removed = new Set([...world.messages.devices].filter(({ isRemoved }) => isRemoved));
  for (const { received } of world.accounts.values()) {
    for (const { device } of received) if (device.isRemoved) removed.add(device);
  }
  return removed;
}

/** The snapshot that a head and its pieces are. */
export function snapshotOf(head: StateHead, pieces: Iterable<StatePiece>): Snapshot {
  const nowMs = head.clock.now_ms;
  const messages: SnapshotMessage[] = [];
  const uses = new Map<string, SnapshotUse[]>();
  const devices = new Map(head.devices.map((each) => [each.device_id, withOwnRows(each)]));
  for (const piece of pieces) {
    if ('messages' in piece) {
      for (const { key_id: keyId, ...message } of piece.messages) {
        messages.push(message);
        const { account_id: accountId, request_id: requestId, created_at_ms: atMs } = message;
        if (keyId === null || requestId === '' || nowMs - atMs > replayWindowMs) continue;
        const own = uses.get(accountId) ?? [];
        uses.set(accountId, own);
        own.push({
          request_id: requestId,
          key_id: keyId,
          endpoint: message.endpoint,
          at_ms: atMs,
          message_id: message.message_id,
          refusal: null,
        });
      }
      continue;
    }
    const device = devices.get(piece.device_id);
    if (device === undefined) throw new Error(`the SIM ${piece.device_id} is missing`);
    if ('paced' in piece) device.paced = piece.paced;
    else for (const id of piece.message_ids) device[piece.row].push(id);
  }
  const accounts = head.accounts.map((account) => ({
    ...account,
    replays: [...(uses.get(account.account_id) ?? []), ...account.replays].sort(
      (a, b) => a.at_ms - b.at_ms,
    ),
  }));
  return { ...head, accounts, devices: [...devices.values()], messages };
}

function withOwnRows(device: SnapshotDevice): SnapshotDevice {
  const { held, ready, in_flight: inFlight } = device;
  return { ...device, held: [...held], ready: [...ready], in_flight: [...inFlight] };
}
