/**
 * The objects of a world as a saved state writes them (`state-format.ts`): accounts with their keys
 * and replays, SIMs, cohorts and fates; also the single values, such as the clock and the seed.
 * `take-state.ts` adds the messages and the work of the devices.
 */
import { hash } from 'node:crypto';
import { endpointNames, replayWindowMs } from '#contract/limits.ts';
import { smstwinVersion } from '#io/shipped-files.ts';
import {
  type Account,
  type ApiKey,
  type Device,
  type FirstUse,
  keyPrefix,
} from '../../sim/accounts/account.ts';
import { type Fate, isUnprompted } from '../../sim/devices/outcomes.ts';
import { assert } from '../../sim/errors.ts';
import type { Cohort } from '../../sim/store/cohort.ts';
import type { ReplayTarget } from '../play.ts';
import {
  type SavedAccount,
  type SavedCohort,
  type SavedDevice,
  type SavedFate,
  type SavedUse,
  type StateHead,
  stateFormat,
} from './state-format.ts';

/** The parts of a simulator whose state is saved. */
export type SavedParts = Pick<ReplayTarget, 'simulation' | 'wallClock'>;

type ObjectLists = 'accounts' | 'devices' | 'cohorts' | 'batches';

/** Everything in the head except its lists of objects. */
export function scalarsOf({ simulation, wallClock }: SavedParts): Omit<StateHead, ObjectLists> {
  const { clock, world, limiter, faults, deviceActors } = simulation;
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
    scripted_waits: world.outcomes.waiting.map(([key, firstMs]) => [key, firstMs]),
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
    awake: deviceActors.inWakeOrder().map(({ deviceId }) => deviceId),
  };
}

export function accountOf(account: Account, nowMs: number): SavedAccount {
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
    sha256: key.digest?.sha256 ?? hash('sha256', key.key),
    prefix: keyPrefix(key),
    created_at_ms: key.createdAtMs,
    revoked_at_ms: key.revokedAtMs ?? null,
  };
}

/** The unexpired uses of one `request_id` in all scopes (keys and endpoints), oldest first. */
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

export function deviceOf(device: Device): SavedDevice {
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

export function fateOf(fate: Fate): SavedFate {
  const { ends, in: status = null, polls } = fate;
  return { ends, in: status, polls, unprompted: isUnprompted(fate) };
}

/** Indexes into a list of the head, by slot: the number by which messages name an object. */
export type Indexes = ReadonlyMap<number, number>;

export function indexesBySlot(objects: readonly { readonly slot: number }[]): Indexes {
  return new Map(objects.map(({ slot }, index) => [slot, index]));
}

export function indexOf(indexes: Indexes, slot = 0): number {
  const index = indexes.get(slot);
  assert(index !== undefined, 'the head lists every object that a message names');
  return index;
}

/** Saves cohorts; those with equal fields become one. */
export function mergeCohorts(
  cohorts: Iterable<Cohort>,
  accountIndexes: Indexes,
  batchIndexes: ReadonlyMap<unknown, number>,
): { readonly cohorts: SavedCohort[]; readonly indexesBySlot: Indexes } {
  const merged: SavedCohort[] = [];
  const indexesByText = new Map<string, number>();
  const indexesOfMerged = new Map<number, number>();
  for (const cohort of cohorts) {
    const account = cohort.account as Account;
    const saved: SavedCohort = {
      account: indexOf(accountIndexes, account.slot),
      unbatched: account.unbatched === cohort,
      fate: cohort.fate === undefined ? null : fateOf(cohort.fate),
      status: cohort.status,
      sending_at_ms: cohort.sendingAtMs,
      sent_at_ms: cohort.sentAtMs,
      ended_at_ms: cohort.endedAtMs,
      failure_reason: cohort.failureReason ?? null,
      due_poll: cohort.duePoll,
      batch: batchIndexes.get(cohort.batch) ?? null,
    };
    const text = JSON.stringify(saved);
    const index = indexesByText.get(text) ?? merged.push(saved) - 1;
    indexesByText.set(text, index);
    indexesOfMerged.set(cohort.slot, index);
  }
  return { cohorts: merged, indexesBySlot: indexesOfMerged };
}
