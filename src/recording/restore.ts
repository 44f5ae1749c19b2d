/**
 * Builds a simulation that continues from a snapshot as if the original had never stopped. It
 * replaces the current one only when complete, so an unusable snapshot changes nothing.
 */

import type { Settings } from '../config/settings.ts';
import type { FaultState } from '../http/service/fault.ts';
import { type Cohort, moveTo } from '../sim/cohort.ts';
import type { ServiceError } from '../sim/errors.ts';
import { endpointNames } from '../sim/limits.ts';
import { messageBody } from '../sim/message.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import { type Fate, unpromptedFate } from '../sim/outcomes.ts';
import { Account, type ApiKey, Device, type Message } from '../sim/records.ts';
import type { MessagePast, SendEndpoint } from '../sim/stored-message.ts';
import type { World } from '../sim/world.ts';
import { walk } from '../simulation/invariants/walk.ts';
import { Simulation } from '../simulation/simulation.ts';
import { sha256 } from './digest.ts';
import type {
  Snapshot,
  SnapshotAccount,
  SnapshotDevice,
  SnapshotMessage,
  SnapshotUse,
} from './snapshot-format.ts';

/**
 * `known` holds the texts of keys by digest; any other key is known only by its digest. `make`
 * creates the simulation, with replaced classes for a defect.
 */
export function restoreSimulation(
  snapshot: Snapshot,
  settings: Settings,
  known: ReadonlyMap<string, string>,
  make: MakeSimulation = (own, startMs) => new Simulation(own, startMs),
  fill?: FillWorld,
): Simulation {
  const simulation = emptySimulation(snapshot, settings, make);
  try {
    new Restoring(snapshot, simulation, known).run(fill);
    const [broken] = fill === undefined ? walk(simulation).broken : [];
    if (broken !== undefined) throw new Error(broken);
  } catch (error) {
    simulation.stop();
    if (error instanceof OperationRefused) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new OperationRefused('invalid', `the snapshot contradicts itself: ${why}`);
  }
  return simulation;
}

/** Adds messages to a world, instead of the snapshot's own. */
export type FillWorld = (world: World, deviceOf: (deviceId: string) => Device) => void;
type MakeSimulation = (settings: Settings, startMs: number) => Simulation;

function emptySimulation(snapshot: Snapshot, settings: Settings, make: MakeSimulation): Simulation {
  const limits = Object.fromEntries(
    endpointNames.map((name) => [name, snapshot.limiter[name].limit]),
  );
  const { seed, assumptions, enforces_quotas: enforcesQuotas } = snapshot;
  const world = { accounts: [], pool: [], outcomes: [], assumptions: {}, limits: {} };
  return make(
    { ...settings, seed, assumptions, limits, noLimits: !enforcesQuotas, world },
    snapshot.clock.now_ms,
  );
}

class Restoring {
  readonly #snapshot: Snapshot;
  readonly #simulation: Simulation;
  readonly #known: ReadonlyMap<string, string>;
  readonly #removed = new Map<string, Device>();
  readonly #ends = new Map<string, Cohort>();
  /** Uses that are already linked to their messages. */
  readonly #usesAdded = new Set<SnapshotUse>();

  constructor(snapshot: Snapshot, simulation: Simulation, known: ReadonlyMap<string, string>) {
    this.#snapshot = snapshot;
    this.#simulation = simulation;
    this.#known = known;
  }

  run(fill: FillWorld | undefined): void {
    const { accounts, devices, messages, faults, outcomes, limiter, counters, awake } =
      this.#snapshot;
    const { world, fleet } = this.#simulation;
    world.keyRing.digestWith(sha256);
    for (const account of accounts) this.#account(account);
    for (const device of devices) {
      if (device.removed === true) this.#restoreRemoved(device);
      else world.restoreDevice(this.#device(device));
    }
    const uses = usesByMessage(accounts);
    for (const message of messages) {
      this.#message(message, uses.get(message.message_id));
    }
    fill?.(world, (deviceId) => this.#deviceOf(deviceId));
    for (const account of accounts) this.#past(account);
    // Runs before the device starts: its work decides when it wakes.
    for (const device of devices) {
      if (device.removed !== true && fill === undefined) this.#work(device);
    }
    for (const device of world.devices.values()) fleet.deviceAdded(device);
    fleet.wakeInOrder(awake.map((deviceId) => found(world.devices, deviceId)));
    world.outcomes.replace(outcomes);
    this.#simulation.faults.restore(faults.created, faults.list as readonly FaultState[]);
    for (const name of endpointNames) {
      const { limit, turned_at_ms: turnedAtMs, recent, older } = limiter[name];
      this.#simulation.limiter.restore(name, { limit, turnedAtMs, recent, older });
    }
    const { arrivals, pool_ids: poolIds, names } = counters;
    world.restoreCounters({ arrivals, poolIds, names });
    const { retention } = this.#snapshot;
    if (retention === undefined) return;
    world.messages.retention.forgottenMessages = retention.forgotten_messages;
    world.messages.retention.forgottenRequestIds = retention.forgotten_request_ids;
  }

  #account({ account_id: id, name, monthly_quota: quota, chance, keys }: SnapshotAccount): void {
    const { world } = this.#simulation;
    const account = new Account(
      (label) => world.chance(label),
      () => id,
      name,
      quota ?? undefined,
      world.messages,
    );
    account.ids.restore(chance.ids);
    account.fates.restore(chance.fates);
    account.paces.restore(chance.paces);
    world.restoreAccount(
      account,
      keys.map((key, ordinal) => this.#key(account, key, ordinal)),
    );
  }

  #key(account: Account, key: SnapshotAccount['keys'][number], ordinal: number): ApiKey {
    const text = this.#known.get(key.sha256);
    return {
      keyId: key.key_id,
      name: key.name,
      account,
      ordinal,
      key: text ?? '',
      digest: text === undefined ? { sha256: key.sha256, prefix: key.prefix } : undefined,
      drawnFrom: undefined,
      createdAtMs: key.created_at_ms,
      revokedAtMs: key.revoked_at_ms ?? undefined,
    };
  }

  #device(device: SnapshotDevice): Device {
    const { connected, active, polling } = device;
    const { accounts } = this.#simulation.world;
    const made = new Device(
      device.device_id,
      device.number,
      device.account_id === null ? undefined : found(accounts, device.account_id),
      device.first_poll_at_ms,
      { connected, active, polling },
    );
    made.allowed = device.allowed;
    return made;
  }

  #restoreRemoved(device: SnapshotDevice): void {
    const made = this.#device(device);
    made.isRemoved = true;
    this.#removed.set(made.deviceId, made);
  }

  #deviceOf(deviceId: string): Device {
    return this.#removed.get(deviceId) ?? found(this.#simulation.world.devices, deviceId);
  }

  /** `use`: the use of its `request_id`, which names the key that sent it. */
  #message(message: SnapshotMessage, use: SnapshotUse | undefined): void {
    const { world } = this.#simulation;
    const send = {
      messageId: message.message_id,
      arrival: message.arrival,
      account: found(world.accounts, message.account_id),
      key: use === undefined ? undefined : found(world.keys, use.key_id),
      device: this.#deviceOf(message.device_id),
      endpoint: message.endpoint as SendEndpoint,
      requestId: message.request_id,
      to: message.to,
      text: message.text,
      sendAtMs: message.send_at_ms,
    };
    if (send.key !== undefined && send.key.account !== send.account) {
      throw new Error(`the request_id of message ${send.messageId} has another account's key`);
    }
    const { fate, created_at_ms: createdAtMs, sender } = message;
    const made = world.restoreMessage(send, createdAtMs, fateOf(fate), pastOf(message));
    if (sender !== '') made.sender = sender;
    if (made.endedAtMs > 0) this.#shareEnd(made);
    if (use !== undefined && isOf(use, message) && send.account.replays.findsMessages) {
      world.messages.usesOf(send.account).add(use.request_id, made);
      this.#usesAdded.add(use);
    }
  }

  /** Messages that ended in the same way share one record of it again. */
  #shareEnd(message: Message): void {
    const { account, sendingAtMs, sentAtMs, endedAtMs, duePoll } = message;
    const end = [account.slot, sendingAtMs, sentAtMs, endedAtMs, duePoll].join();
    const shared = this.#ends.get(end);
    if (shared?.movesLike(message, duePoll)) moveTo(shared, message);
    else this.#ends.set(end, message.cohort);
  }

  #past({ account_id: id, received, replays, forgotten }: SnapshotAccount): void {
    const { world } = this.#simulation;
    const account = found(world.accounts, id);
    for (const { message_id: messageId, device_id: deviceId, ...rest } of received) {
      const { from, message, received_at_ms: receivedAtMs } = rest;
      const device = this.#deviceOf(deviceId);
      world.restoreReceived(account, { messageId, device, from, message, receivedAtMs });
    }
    if (forgotten !== undefined) account.restoreForgotten(forgotten);
    for (const use of replays) {
      if (this.#usesAdded.has(use)) continue;
      const message = use.message_id === null ? undefined : found(world.messages, use.message_id);
      account.replays.keep({
        requestId: use.request_id,
        key: found(world.keys, use.key_id),
        endpoint: use.endpoint,
        atMs: use.at_ms,
        body: message === undefined ? '' : messageBody(message, 'queued'),
        outcome: message ?? (use.refusal as ServiceError),
      });
    }
  }

  #work(device: SnapshotDevice): void {
    const { world } = this.#simulation;
    const { work } = found(world.devices, device.device_id);
    const message = (messageId: string) => found(world.messages, messageId);
    work.restore({
      pollCount: device.poll_count,
      held: device.held.map(message),
      ready: device.ready.map(message),
      inFlight: device.in_flight.map(message),
      paced: device.paced.map(({ message_id: messageId, from, due_at_ms: dueAtMs }) => ({
        message: message(messageId),
        from,
        dueAtMs,
      })),
    });
  }
}

function usesByMessage(accounts: readonly SnapshotAccount[]): Map<string, SnapshotUse> {
  const uses = new Map<string, SnapshotUse>();
  for (const { replays } of accounts) {
    for (const use of replays) if (use.message_id !== null) uses.set(use.message_id, use);
  }
  return uses;
}

/** True if the message contains everything about the use. */
function isOf(use: SnapshotUse, message: SnapshotMessage): boolean {
  return (
    use.request_id === message.request_id &&
    use.request_id !== '' &&
    use.at_ms === message.created_at_ms &&
    use.endpoint === message.endpoint
  );
}

function pastOf(message: SnapshotMessage): MessagePast {
  return {
    status: message.status,
    sendingAtMs: message.sending_at_ms,
    sentAtMs: message.sent_at_ms,
    endedAtMs: message.ended_at_ms,
    failureReason: message.failure_reason ?? undefined,
    duePoll: message.due_poll,
  };
}

export function fateOf(fate: SnapshotMessage['fate']): Fate | undefined {
  if (fate === null) return undefined;
  return fate.unprompted && fate.in !== null
    ? unpromptedFate(fate.in)
    : { ends: fate.ends, in: fate.in ?? undefined, polls: fate.polls };
}

function found<T>(map: { get(id: string): T | undefined }, id: string): T {
  const value = map.get(id);
  if (value === undefined) throw new Error(`${id} is missing`);
  return value;
}
