/**
 * Builds a simulation that continues from a saved state as if the original had never stopped. It
 * replaces the current one only when complete, so an unusable state changes nothing.
 */

import type { Settings } from '../config/settings.ts';
import type { FaultState } from '../http/service/fault.ts';
import { Batch } from '../sim/batch.ts';
import { Cohort } from '../sim/cohort.ts';
import type { ServiceError } from '../sim/errors.ts';
import { endpointNames } from '../sim/limits.ts';
import { messageBody, sendEndpoints } from '../sim/message.ts';
import { OperationRefused } from '../sim/operation-refused.ts';
import { type Fate, unpromptedFate } from '../sim/outcomes.ts';
import { Account, type ApiKey, Device, type Message } from '../sim/records.ts';
import { walk } from '../simulation/invariants/walk.ts';
import { Simulation } from '../simulation/simulation.ts';
import { sha256 } from './digest.ts';
import type {
  SavedAccount,
  SavedCohort,
  SavedDevice,
  SavedFate,
  SavedMessages,
  Snapshot,
  StateHead,
  StatePart,
} from './state-format.ts';

/** How a state is restored. */
export interface RestoreOptions {
  readonly settings: Settings;
  /** The texts of keys by digest; any other key is known only by its digest. */
  readonly known: ReadonlyMap<string, string>;
  /** Creates the simulation, with replaced classes for a defect. */
  readonly make?: (settings: Settings, startMs: number) => Simulation;
}

/** Refuses a snapshot that contradicts itself. */
export function restoreSnapshot(snapshot: Snapshot, options: RestoreOptions): Simulation {
  return restoreState(snapshot, [snapshot], options, (simulation) => {
    const [broken] = walk(simulation).broken;
    if (broken !== undefined) throw new Error(broken);
  });
}

/** `check` throws if the result is unsound. */
export function restoreState(
  head: StateHead,
  parts: Iterable<StatePart>,
  { settings, known, make = (own, startMs) => new Simulation(own, startMs) }: RestoreOptions,
  check?: (simulation: Simulation) => void,
): Simulation {
  const simulation = make(settingsOf(head, settings), head.clock.now_ms);
  try {
    new Restoring(head, simulation, known).run(parts);
    check?.(simulation);
  } catch (error) {
    simulation.stop();
    if (error instanceof OperationRefused) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new OperationRefused('invalid', `the snapshot contradicts itself: ${why}`);
  }
  return simulation;
}

/** The settings of a simulation that starts empty. */
function settingsOf(
  { seed, assumptions, enforces_quotas: enforcesQuotas, limiter }: StateHead,
  settings: Settings,
): Settings {
  const limits = Object.fromEntries(endpointNames.map((name) => [name, limiter[name].limit]));
  const world = { accounts: [], pool: [], outcomes: [], assumptions: {}, limits: {} };
  return { ...settings, seed, assumptions, limits, noLimits: !enforcesQuotas, world };
}

class Restoring {
  readonly #head: StateHead;
  readonly #simulation: Simulation;
  readonly #known: ReadonlyMap<string, string>;
  /** The objects of the head's lists, in their order. */
  readonly #accounts: readonly Account[];
  readonly #devices: readonly Device[];
  readonly #cohorts: readonly Cohort[];
  /** Equal fates are one object, as in the world that was saved. */
  readonly #fates = new Map<string, Fate>();

  constructor(head: StateHead, simulation: Simulation, known: ReadonlyMap<string, string>) {
    this.#head = head;
    this.#simulation = simulation;
    this.#known = known;
    simulation.world.keyRing.digestWith(sha256);
    this.#accounts = head.accounts.map((account) => this.#account(account));
    this.#devices = head.devices.map((device) => this.#device(device));
    this.#cohorts = head.cohorts.map((cohort) => this.#cohort(cohort));
  }

  run(parts: Iterable<StatePart>): void {
    const { accounts, faults, outcomes, limiter, counters, awake } = this.#head;
    const { world, fleet } = this.#simulation;
    this.#work(parts);
    for (const account of accounts) this.#past(account);
    // Runs after the work is restored: the work decides when a device wakes.
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
    const { forgotten_messages: messages, forgotten_request_ids: requestIds } =
      this.#head.retention;
    world.messages.retention.forgottenMessages = messages;
    world.messages.retention.forgottenRequestIds = requestIds;
  }

  #account({ account_id: id, name, monthly_quota: quota, chance, keys }: SavedAccount): Account {
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
    return account;
  }

  #key(account: Account, key: SavedAccount['keys'][number], ordinal: number): ApiKey {
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

  #device(device: SavedDevice): Device {
    const { connected, active, polling } = device;
    const { world } = this.#simulation;
    const made = new Device(
      device.device_id,
      device.number,
      device.account_id === null ? undefined : found(world.accounts, device.account_id),
      device.first_poll_at_ms,
      { connected, active, polling },
    );
    made.allowed = device.allowed;
    made.isRemoved = device.removed === true;
    if (!made.isRemoved) world.restoreDevice(made);
    return made;
  }

  #cohort(saved: SavedCohort): Cohort {
    const account = listed(this.#accounts, saved.account);
    const cohort = saved.unbatched
      ? account.unbatched
      : new Cohort(account, this.#fate(saved.fate));
    cohort.repeat({
      status: saved.status,
      sendingAtMs: saved.sending_at_ms,
      sentAtMs: saved.sent_at_ms,
      endedAtMs: saved.ended_at_ms,
      failureReason: saved.failure_reason ?? undefined,
      duePoll: saved.due_poll,
    });
    return cohort;
  }

  /** Restores the messages, then the work of the devices, which refers to them. */
  #work(parts: Iterable<StatePart>): void {
    const { messages: store } = this.#simulation.world;
    const members: number[][] = this.#head.batches.map(() => []);
    const held: Required<StatePart>['held'] = [];
    const paced: Required<StatePart>['paced'] = [];
    for (const part of parts) {
      if (part.messages !== undefined) this.#addMessages(part.messages);
      for (const { batch, arrivals } of part.members ?? [])
        listed(members, batch).push(...arrivals);
      held.push(...(part.held ?? []));
      paced.push(...(part.paced ?? []));
    }
    const messagesOf = (arrivals: readonly number[]): Message[] =>
      arrivals.flatMap((arrival) => store.ofArrival(arrival) ?? []);
    const rows = this.#head.batches.map((row, place) => {
      const batch = new Batch<Message>(messagesOf(listed(members, place)));
      batch.cohorts = row.cohorts.map((cohort) => listed(this.#cohorts, cohort));
      return { ...row, batch };
    });
    for (const [place, { batch }] of this.#head.cohorts.entries()) {
      if (batch !== null) listed(this.#cohorts, place).batch = listed(rows, batch).batch;
    }
    for (const [place, { poll_count: pollCount }] of this.#head.devices.entries()) {
      const own = rows.filter(({ device }) => device === place);
      const batchesIn = (wanted: string) =>
        own.filter(({ row }) => row === wanted).map(({ batch }) => batch);
      const alone = held.filter(({ device }) => device === place);
      listed(this.#devices, place).work.restore({
        pollCount,
        ready: batchesIn('ready'),
        inFlight: batchesIn('in_flight'),
        held: {
          alone: alone.flatMap(({ arrivals }) => messagesOf(arrivals)),
          together: own
            .filter(({ row }) => row === 'held')
            .map(({ ends_at_ms: end, batch }) => [end, batch]),
        },
        paced: paced
          .filter(({ device }) => device === place)
          .flatMap(({ arrival, from, due_at_ms: dueAtMs }) =>
            messagesOf([arrival]).map((message) => ({ message, from, dueAtMs })),
          ),
      });
    }
  }

  #addMessages(messages: SavedMessages): void {
    const { world } = this.#simulation;
    const sendAtMs = new Map(messages.send_at_ms);
    const fates = new Map(messages.fate);
    const senders = new Map(messages.sender);
    for (const [at, messageId] of messages.message_id.entries()) {
      const account = listed(this.#accounts, listed(messages.account, at));
      const key = listed(messages.key, at);
      const saved = {
        messageId,
        arrival: listed(messages.arrival, at),
        account,
        key: key === 0 ? undefined : listed(account.keys, key - 1),
        device: listed(this.#devices, listed(messages.device, at)),
        endpoint: listed(sendEndpoints, listed(messages.endpoint, at)),
        requestId: listed(messages.request_id, at),
        to: listed(messages.to, at),
        text: listed(messages.text, at),
        sendAtMs: sendAtMs.get(at) ?? 0,
        createdAtMs: listed(messages.created_at_ms, at),
        fate: this.#fate(fates.get(at) ?? null),
        sender: senders.get(at) ?? '',
      };
      world.restoreMessage(saved, listed(this.#cohorts, listed(messages.cohort, at)));
    }
  }

  #fate(saved: SavedFate | null): Fate | undefined {
    if (saved === null) return undefined;
    const { ends, in: status, polls, unprompted } = saved;
    const name = `${ends} ${status} ${polls} ${unprompted}`;
    let fate = this.#fates.get(name);
    if (fate === undefined) {
      const isDrawn = unprompted && status !== null;
      fate = isDrawn ? unpromptedFate(status) : { ends, in: status ?? undefined, polls };
      this.#fates.set(name, fate);
    }
    return fate;
  }

  #past({ account_id: id, received, replays, forgotten, quota }: SavedAccount): void {
    const { world } = this.#simulation;
    const account = found(world.accounts, id);
    for (const { message_id: messageId, device_id: deviceId, ...rest } of received) {
      const { from, message, received_at_ms: receivedAtMs } = rest;
      const device = this.#devices.find((each) => each.deviceId === deviceId);
      if (device === undefined) throw new Error(`${deviceId} is missing`);
      world.restoreReceived(account, { messageId, device, from, message, receivedAtMs });
    }
    account.restoreCounts(forgotten, quota);
    for (const use of replays) {
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
}

function listed<T>(list: readonly T[], place: number): T {
  const item = list[place];
  if (item === undefined) throw new Error(`entry ${place} of a list is missing`);
  return item;
}

function found<T>(map: { get(id: string): T | undefined }, id: string): T {
  const value = map.get(id);
  if (value === undefined) throw new Error(`${id} is missing`);
  return value;
}
