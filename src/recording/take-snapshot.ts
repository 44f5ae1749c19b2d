/**
 * Takes a snapshot: the whole state of a simulator as data.
 */

import { smstwinVersion } from '../config/version.ts';
import { keyPrefix } from '../sim/key-prefix.ts';
import type { Limiter } from '../sim/limiter.ts';
import { type EndpointName, endpointNames, replayWindowMs } from '../sim/limits.ts';
import { type Fate, isUnprompted } from '../sim/outcomes.ts';
import type { Account, ApiKey, Device, FirstUse, Message } from '../sim/records.ts';
import type { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { WallClock } from '../simulation/wall-clock.ts';
import { sha256 } from './digest.ts';
import {
  type Snapshot,
  type SnapshotAccount,
  type SnapshotDevice,
  type SnapshotMessage,
  type SnapshotUse,
  snapshotFormat,
} from './snapshot-format.ts';

/** The parts of a simulator that a snapshot holds. */
export interface Snapped {
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
}

export function takeSnapshot(snapped: Snapped): Snapshot {
  const { clock, world } = snapped.simulation;
  return {
    ...headOf(snapped),
    accounts: accountsOf(world, clock.now()),
    devices: [
      ...[...world.devices.values()].map(deviceOf),
      ...[...removedDevices(world)].map((device) => ({ ...deviceOf(device), ...noWork })),
    ],
    messages: [...world.messages.values()].map(messageOf),
  };
}

/** Everything whose size does not depend on the number of messages. */
export function headOf({
  simulation,
  wallClock,
}: Snapped): Omit<Snapshot, 'accounts' | 'devices' | 'messages'> {
  const { clock, world, limiter, faults, fleet } = simulation;
  const { arrivals, poolIds, names } = world.counters;
  return {
    snapshot: snapshotFormat,
    smstwin: smstwinVersion(),
    seed: world.seed,
    clock: { now_ms: clock.now(), mode: wallClock.mode, rate: wallClock.scaledRate },
    enforces_quotas: world.enforcesQuotas,
    assumptions: world.assumptions,
    outcomes: [...world.outcomes.list] as Snapshot['outcomes'],
    limiter: Object.fromEntries(
      endpointNames.map((name) => [name, bucketsOf(limiter, name)]),
    ) as Snapshot['limiter'],
    faults: {
      created: faults.created,
      list: faults.list.map(({ state }) => state) as unknown as Snapshot['faults']['list'],
    },
    counters: {
      arrivals,
      pool_ids: [...poolIds],
      names: names.map(([name, count]) => [name, count]),
    },
    ...retentionOf(world),
    awake: fleet.inWakeOrder().map(({ deviceId }) => deviceId),
  };
}

function bucketsOf(limiter: Limiter, endpoint: EndpointName): Snapshot['limiter'][EndpointName] {
  const { limit, turnedAtMs, recent, older } = limiter.stateOf(endpoint);
  return { limit, turned_at_ms: turnedAtMs, recent, older };
}

function retentionOf({ messages: { retention } }: World): Pick<Snapshot, 'retention'> {
  const { forgottenMessages, forgottenRequestIds } = retention;
  if (forgottenMessages === 0) return {};
  return {
    retention: {
      forgotten_messages: forgottenMessages,
      forgotten_request_ids: forgottenRequestIds,
    },
  };
}

function accountsOf(world: World, nowMs: number): SnapshotAccount[] {
  const uses = new Map<Account, SnapshotUse[]>();
  for (const account of world.accounts.values()) uses.set(account, []);
  for (const message of world.messages.values()) {
    const { account, key, requestId, createdAtMs } = message;
    const isUse = requestId !== '' && nowMs - createdAtMs <= replayWindowMs;
    if (!isUse || key === undefined || !account.replays.findsMessages) continue;
    uses.get(account)?.push(useOf(message, requestId, key));
  }
  return [...uses].map(([account, accepted]) => accountOf(account, accepted, nowMs));
}

function useOf(message: Message, requestId: string, key: ApiKey): SnapshotUse {
  return {
    request_id: requestId,
    key_id: key.keyId,
    endpoint: message.endpoint,
    at_ms: message.createdAtMs,
    message_id: message.messageId,
    refusal: null,
  };
}

/** `accepted`: the uses of the account's messages. */
export function accountOf(
  account: Account,
  accepted: readonly SnapshotUse[],
  nowMs: number,
): SnapshotAccount {
  const { forgotten, quota } = account;
  const isForgetful = forgotten.delivered + forgotten.failed > 0;
  return {
    ...accountHead(account, accepted, nowMs),
    ...(isForgetful && { forgotten: { ...forgotten, quota: quota.state } }),
  };
}

/** Everything except its counts. */
export function accountHead(
  account: Account,
  accepted: readonly SnapshotUse[],
  nowMs: number,
): SnapshotAccount {
  const { ids, fates, paces } = account;
  const kept = [...account.replays.entries()].flatMap((use) => usesOf(use, nowMs));
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
    replays: [...accepted, ...kept].sort((a, b) => a.at_ms - b.at_ms),
  };
}

function keyOf(key: ApiKey): SnapshotAccount['keys'][number] {
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
function usesOf(newest: FirstUse, nowMs: number): SnapshotUse[] {
  const uses: SnapshotUse[] = [];
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

export const noRows = { held: [], ready: [], in_flight: [], paced: [] };
export const noWork = { removed: true as const, poll_count: 0, ...noRows };

/** Removed SIMs that a message still refers to. */
function removedDevices({ accounts, messages }: World): Set<Device> {
  const removed = new Set<Device>();
  for (const { device } of messages.values()) if (device.isRemoved) removed.add(device);
  for (const { received } of accounts.values()) {
    for (const { device } of received) if (device.isRemoved) removed.add(device);
  }
  return removed;
}

function deviceOf(device: Device): SnapshotDevice {
  const { held, ready, inFlight, paced } = device.work.rows();
  return {
    ...deviceHead(device),
    held: held.map(idOf),
    ready: ready.map(idOf),
    in_flight: inFlight.map(idOf),
    paced: paced.map(({ message, from, dueAtMs }) => ({
      message_id: message.messageId,
      from,
      due_at_ms: dueAtMs,
    })),
  };
}

/** Everything except its rows. */
export function deviceHead(
  device: Device,
): Omit<SnapshotDevice, 'held' | 'ready' | 'in_flight' | 'paced'> {
  return {
    device_id: device.deviceId,
    number: device.number,
    account_id: device.account?.accountId ?? null,
    first_poll_at_ms: device.firstPollAtMs,
    connected: device.connected,
    active: device.active,
    polling: device.polling,
    allowed: device.allowed,
    poll_count: device.work.pollCount,
  };
}

export function messageOf(message: Message): SnapshotMessage {
  const { fate } = message;
  return {
    message_id: message.messageId,
    account_id: message.account.accountId,
    device_id: message.device.deviceId,
    endpoint: message.endpoint,
    request_id: message.requestId,
    to: message.to,
    text: message.text,
    created_at_ms: message.createdAtMs,
    send_at_ms: message.sendAtMs,
    fate: fate === undefined ? null : fateImage(fate),
    arrival: message.arrival,
    status: message.status,
    sending_at_ms: message.sendingAtMs,
    sent_at_ms: message.sentAtMs,
    ended_at_ms: message.endedAtMs,
    failure_reason: message.failureReason ?? null,
    due_poll: message.duePoll,
    sender: message.sender,
  };
}

export type FateImage = NonNullable<SnapshotMessage['fate']>;

export function fateImage(fate: Fate): FateImage {
  const { ends, in: status = null, polls } = fate;
  return { ends, in: status, polls, unprompted: isUnprompted(fate) };
}

function idOf({ messageId }: Message): string {
  return messageId;
}
