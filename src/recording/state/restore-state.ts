/**
 * Builds a simulation from a saved state (`state-format.ts`). It continues as if the original had
 * never stopped. The caller replaces the current simulation with the complete new one, so a state
 * that cannot be restored changes nothing.
 */
import { endpointNames } from '#contract/limits.ts';
import { getOrAdd } from '#io/grouped.ts';
import type { Settings } from '../../config/settings.ts';
import type { FaultState } from '../../http/service/fault.ts';
import { Account, type ApiKey, Device } from '../../sim/accounts/account.ts';
import { type Fate, unpromptedFates } from '../../sim/devices/outcomes.ts';
import { OperationRefused, type ServiceError } from '../../sim/errors.ts';
import { Cohort } from '../../sim/store/cohort.ts';
import { messageBody } from '../../sim/store/message-view.ts';
import { walk } from '../../simulation/invariants/walk.ts';
import { Simulation } from '../../simulation/simulation.ts';
import { digestOfKey } from '../journal/journal-header.ts';
import { entryAt, MessageRestoration } from './restore-messages.ts';
import type {
  SavedAccount,
  SavedCohort,
  SavedDevice,
  SavedFate,
  Snapshot,
  StateHead,
  StatePart,
} from './state-format.ts';

export interface RestoreOptions {
  readonly settings: Settings;
  /** The texts of keys by digest; any other key is known only by its digest. */
  readonly keyTexts: ReadonlyMap<string, string>;
  /** Creates the simulation; a simulator with a planted defect has other classes. */
  readonly make?: (settings: Settings, startMs: number) => Simulation;
}

/** Throws an OperationRefused if the snapshot contradicts itself or breaks an invariant. */
export function restoreSnapshot(snapshot: Snapshot, options: RestoreOptions): Simulation {
  return restoreState(snapshot, [snapshot], options, (simulation) => {
    const [broken] = walk(simulation).broken;
    if (broken !== undefined) throw new Error(broken);
  });
}

/** `check`: throws if the result is unsound. Errors are an OperationRefused, as above. */
export function restoreState(
  head: StateHead,
  parts: Iterable<StatePart>,
  { settings, keyTexts, make = (empty, startMs) => new Simulation(empty, startMs) }: RestoreOptions,
  check?: (simulation: Simulation) => void,
): Simulation {
  const simulation = make(emptySettings(head, settings), head.clock.now_ms);
  try {
    new Restoration(head, simulation, keyTexts).run(parts);
    check?.(simulation);
  } catch (error) {
    simulation.stop();
    if (error instanceof OperationRefused) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperationRefused('invalid', `the snapshot contradicts itself: ${reason}`);
  }
  return simulation;
}

/** The settings of a simulation that starts without accounts and numbers. */
function emptySettings(
  { seed, assumptions, enforces_quotas: enforcesQuotas, limiter }: StateHead,
  settings: Settings,
): Settings {
  const limits = Object.fromEntries(endpointNames.map((name) => [name, limiter[name].limit]));
  const world = { accounts: [], pool: [], outcomes: [], assumptions: {}, limits: {} };
  return { ...settings, seed, assumptions, limits, noLimits: !enforcesQuotas, world };
}

/** Fills an empty simulation: the constructor adds the objects of the head, `run` all else. */
class Restoration {
  readonly #head: StateHead;
  readonly #simulation: Simulation;
  /** The texts of keys, by digest. */
  readonly #keyTexts: ReadonlyMap<string, string>;
  /** The objects of the head's lists, in their order: a saved state names objects by index. */
  readonly #accounts: readonly Account[];
  readonly #devices: readonly Device[];
  /** All devices, also removed ones, which the world does not know. */
  readonly #devicesById: ReadonlyMap<string, Device>;
  readonly #cohorts: readonly Cohort[];
  /** Equal fates are one object, as in the world that was saved. */
  readonly #fates = new Map<string, Fate>();

  constructor(head: StateHead, simulation: Simulation, keyTexts: ReadonlyMap<string, string>) {
    this.#head = head;
    this.#simulation = simulation;
    this.#keyTexts = keyTexts;
    simulation.world.keyRing.setDigestFunction(digestOfKey);
    this.#accounts = head.accounts.map((account) => this.#restoreAccount(account));
    this.#devices = head.devices.map((device) => this.#restoreDevice(device));
    this.#devicesById = new Map(this.#devices.map((device) => [device.deviceId, device]));
    this.#cohorts = head.cohorts.map((cohort) => this.#restoreCohort(cohort));
  }

  run(parts: Iterable<StatePart>): void {
    const { accounts, faults, outcomes, limiter, counters, awake } = this.#head;
    const { world, deviceActors } = this.#simulation;
    new MessageRestoration(this.#head, world, {
      accounts: this.#accounts,
      devices: this.#devices,
      cohorts: this.#cohorts,
      toFate: (saved) => this.#toFate(saved),
    }).run(parts);
    for (const account of accounts) this.#restoreHistory(account);
    // The work comes first, since it decides when a device wakes.
    for (const device of world.devices.values()) deviceActors.deviceAdded(device);
    deviceActors.wakeInOrder(awake.map((deviceId) => requireById(world.devices, deviceId)));
    world.outcomes.replace(outcomes);
    world.outcomes.restoreWaiting(this.#head.scripted_waits);
    this.#simulation.faults.restore(faults.created, faults.list as readonly FaultState[]);
    for (const name of endpointNames) {
      const { limit, turned_at_ms: turnedAtMs, recent, older } = limiter[name];
      this.#simulation.limiter.restore(name, { limit, turnedAtMs, recent, older });
    }
    world.restoreCounters({ ...counters, poolIds: counters.pool_ids });
    const { retention } = world.messages;
    retention.forgottenMessages = this.#head.retention.forgotten_messages;
    retention.forgottenRequestIds = this.#head.retention.forgotten_request_ids;
  }

  #restoreAccount(saved: SavedAccount): Account {
    const { account_id: id, name, monthly_quota: quota, chance, keys } = saved;
    const { world } = this.#simulation;
    const account = new Account({
      chance: (label) => world.chance(label),
      newId: () => id,
      name,
      monthlyQuota: quota ?? undefined,
      allMessages: world.messages,
    });
    account.ids.restore(chance.ids);
    account.fates.restore(chance.fates);
    account.paces.restore(chance.paces);
    world.addAccount(account);
    for (const [ordinal, key] of keys.entries()) world.addKey(this.#toKey(account, key, ordinal));
    return account;
  }

  #toKey(account: Account, key: SavedAccount['keys'][number], ordinal: number): ApiKey {
    const text = this.#keyTexts.get(key.sha256);
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

  #restoreDevice(saved: SavedDevice): Device {
    const { device_id: deviceId, account_id: accountId, first_poll_at_ms: firstPollAtMs } = saved;
    const { world } = this.#simulation;
    const account = accountId === null ? undefined : requireById(world.accounts, accountId);
    const restored = new Device({ ...saved, deviceId, account, firstPollAtMs });
    restored.isRemoved = saved.removed === true;
    if (!restored.isRemoved) world.addDevice(restored);
    return restored;
  }

  #restoreCohort(saved: SavedCohort): Cohort {
    const account = entryAt(this.#accounts, saved.account);
    const cohort = saved.unbatched
      ? account.unbatched
      : new Cohort(account, this.#toFate(saved.fate));
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

  #toFate(saved: SavedFate | null): Fate | undefined {
    if (saved === null) return undefined;
    const { ends, in: status, polls, unprompted } = saved;
    const fields = `${ends} ${status} ${polls} ${unprompted}`;
    return getOrAdd(this.#fates, fields, () => {
      const isDrawn = unprompted && status !== null;
      return isDrawn ? unpromptedFates[status] : { ends, in: status ?? undefined, polls };
    });
  }

  /** The received messages, counts, quota and replays of an account. */
  #restoreHistory({ account_id: id, received, replays, forgotten, quota }: SavedAccount): void {
    const { world } = this.#simulation;
    const account = requireById(world.accounts, id);
    for (const { message_id: messageId, device_id: deviceId, ...rest } of received) {
      const { from, message, received_at_ms: receivedAtMs } = rest;
      const device = requireById(this.#devicesById, deviceId);
      world.addReceived(account, { messageId, device, from, message, receivedAtMs });
    }
    account.restoreCounts(forgotten, quota);
    for (const use of replays) {
      const message =
        use.message_id === null ? undefined : requireById(world.messages, use.message_id);
      account.replays.keep({
        requestId: use.request_id,
        key: requireById(world.keys, use.key_id),
        endpoint: use.endpoint,
        atMs: use.at_ms,
        body: message === undefined ? '' : messageBody(message, 'queued'),
        outcome: message ?? (use.refusal as ServiceError),
      });
    }
  }
}

function requireById<T>(map: { get(id: string): T | undefined }, id: string): T {
  const value = map.get(id);
  if (value === undefined) throw new Error(`${id} is missing`);
  return value;
}
