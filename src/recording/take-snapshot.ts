/**
 * Writes down the whole state of a simulator.
 */

import { smstwinVersion } from '../config/version.ts';
import { keyPrefix } from '../sim/key-prefix.ts';
import type { Limiter } from '../sim/limiter.ts';
import { type EndpointName, endpointNames, replayWindowMs } from '../sim/limits.ts';
import { isUnprompted } from '../sim/outcomes.ts';
import type { Account, ApiKey, Device, FirstUse } from '../sim/records.ts';
import { Message } from '../sim/records.ts';
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
interface Snapped {
  readonly simulation: Simulation;
  readonly wallClock: WallClock;
}

export function takeSnapshot({ simulation, wallClock }: Snapped): Snapshot {
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
    accounts: [...world.accounts.values()].map((account) => accountOf(account, clock.now())),
    devices: [
      ...[...world.devices.values()].map(deviceOf),
      ...[...removedDevices(world)].map((device) => ({ ...deviceOf(device), ...noWork })),
    ],
    awake: fleet.inWakeOrder().map(({ deviceId }) => deviceId),
    messages: [...world.messages.values()].map(messageOf),
  };
}

function bucketsOf(limiter: Limiter, endpoint: EndpointName): Snapshot['limiter'][EndpointName] {
  const { limit, turnedAtMs, recent, older } = limiter.stateOf(endpoint);
  return { limit, turned_at_ms: turnedAtMs, recent, older };
}

function accountOf(account: Account, nowMs: number): SnapshotAccount {
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
    replays: [...account.replays.entries()].flatMap((use) => usesOf(use, nowMs)),
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

/** A use and the earlier, unexpired ones of the same id in other scopes, oldest first. */
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
      message_id: outcome instanceof Message ? outcome.messageId : null,
      refusal: outcome instanceof Message ? null : outcome,
    });
  }
  return uses;
}

const noWork = {
  removed: true as const,
  poll_count: 0,
  held: [],
  ready: [],
  in_flight: [],
  paced: [],
};

/** SIMs that were removed, as far as a message still names them. */
function removedDevices({ accounts }: World): Set<Device> {
  const removed = new Set<Device>();
  for (const { messages, received } of accounts.values()) {
    for (const { device } of messages) if (device.isRemoved) removed.add(device);
    for (const { device } of received) if (device.isRemoved) removed.add(device);
  }
  return removed;
}

function deviceOf(device: Device): SnapshotDevice {
  const { pollCount, held, ready, inFlight, paced } = device.work.rows();
  return {
    device_id: device.deviceId,
    number: device.number,
    account_id: device.account?.accountId ?? null,
    first_poll_at_ms: device.firstPollAtMs,
    connected: device.connected,
    active: device.active,
    polling: device.polling,
    allowed: device.allowed,
    poll_count: pollCount,
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

function messageOf(message: Message): SnapshotMessage {
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
    fate:
      fate === undefined
        ? null
        : {
            ends: fate.ends,
            in: fate.in ?? null,
            polls: fate.polls,
            unprompted: isUnprompted(fate),
          },
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

function idOf({ messageId }: Message): string {
  return messageId;
}
