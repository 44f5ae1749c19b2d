/**
 * The simulator (one world) as operations see it. They call it `live`, as a past state is a world,
 * too. A reset or a restore replaces `simulation`, so an operation reads it at each call and never
 * keeps it. Also finds the object that the id in an operation's path refers to; an account may be
 * named instead.
 */
import { z } from 'zod';
import type { Delivery } from '#contract/request-and-reply.ts';
import type { Fault } from '../http/service/fault.ts';
import type { RecordedExchange } from '../recording/recorded-exchange.ts';
import type { Account, ApiKey, Device, Message } from '../sim/accounts/account.ts';
import type { Registry } from '../sim/accounts/registry.ts';
import { OperationRefused } from '../sim/errors.ts';
import { isReadable } from '../sim/store/message-view.ts';
import type { Counts } from '../simulation/metrics/families.ts';
import type { Simulation } from '../simulation/simulation.ts';
import type { HostedWorld, WorldSimulator } from '../worlds/hosted-world.ts';
import type { Worlds } from '../worlds/worlds.ts';
import type { Activity } from './events/activity.ts';

export interface RunningWorld extends WorldSimulator {
  readonly activity: Activity;
  /** Counts since the start. They survive a reset, so Prometheus counters never decrease. */
  readonly counts: Counts;
  /** Functions that end the open waits (`messages.wait`); closing the simulator calls them. */
  readonly waits: Set<(reason: OperationRefused) => void>;
  readonly hostedWorlds: Worlds<RunningWorld>;
  /** The URL of the service; empty while it does not listen. */
  readonly baseUrl: string;
  /** The URL of the control port; empty while it does not listen. */
  readonly controlUrl: string;
  /** The two URLs for a client that reached the control port by this `Host`. */
  urlsFor(host: string | undefined): { readonly baseUrl: string; readonly controlUrl: string };
  /**
   * Runs one input that changes state: first moves simulated time to the present, then records the
   * operation's name and arguments (JSON values, which a replay uses). `recorded`: the part of the
   * result that journals compare.
   */
  change<T>(
    name: string,
    args: readonly unknown[],
    act: () => T,
    recorded?: (result: T) => unknown,
  ): T;
  /** A simulation in the start state, at another simulated time. */
  simulationAtStart(startMs: number): Simulation;
  /** Verb and path of an operation, with its id filled in. */
  routeOf(name: string, id?: string): { readonly method: string; readonly path: string };
  /** Records that a delayed reply of any world was sent or, if not seen, that its client left. */
  replyFinished(delivery: Delivery, isSeen: boolean): void;
  /** Why the journal can no longer be written; all requests of the world then fail. */
  readonly journalFailure: string | undefined;
  /** The run as NDJSON since the last checkpoint or, if memory keeps it, since the last reset. */
  journalText(): string;
  /** Stops the serving process as SIGTERM does; without one, closes the simulator. */
  shutdown(): void;
  /** True once it stops. */
  readonly isClosing: boolean;
}

/** The objects that paths refer to, by the names of path parameters. */
export interface Targets {
  readonly account_id: Account;
  readonly key_id: ApiKey;
  readonly device_id: Device;
  readonly message_id: Message;
  readonly fault_id: Fault;
  /** The number of a request in the log. */
  readonly number: RecordedExchange;
  readonly world_id: HostedWorld<RunningWorld>;
}

/** How each of them is found, and the beginning of the refusal if there is none. */
const finders: {
  readonly [Name in keyof Targets]: {
    readonly refusal: string;
    readonly find: (live: RunningWorld, id: string) => Targets[Name] | undefined;
  };
} = {
  account_id: {
    refusal: 'no account has the id or name',
    find: ({ simulation }, id) => findAccount(simulation.world, id),
  },
  key_id: {
    refusal: 'no key has the id',
    find: ({ simulation }, id) => simulation.world.keys.get(id),
  },
  device_id: {
    refusal: 'no SIM has the id',
    find: ({ simulation }, id) => simulation.world.devices.get(id),
  },
  message_id: {
    refusal: 'no message has the id',
    find: ({ simulation: { world } }, id) => {
      const message = world.messages.get(id);
      return message && isReadable(message, world.now(), world.assumptions) ? message : undefined;
    },
  },
  fault_id: {
    refusal: 'no fault has the id',
    find: ({ simulation }, id) => simulation.faults.list.find(({ faultId }) => faultId === id),
  },
  number: {
    refusal: 'no request in the log has the number',
    find: ({ exchangeRecord }, id) =>
      /^[0-9]+$/.test(id) ? exchangeRecord.get(Number(id)) : undefined,
  },
  world_id: {
    refusal: 'no world has the id',
    find: ({ hostedWorlds }, id) => {
      const world = hostedWorlds.get(id);
      // The operation has caught up with the wall clock in `live` alone.
      world?.simulator.wallClock.catchUp();
      return world;
    },
  },
};

/** The object with this id. Refused with `not_found` if there is none. */
export function find<Name extends keyof Targets>(
  name: Name,
  live: RunningWorld,
  id: string,
): Targets[Name] {
  const found = finders[name].find(live, id);
  if (found !== undefined) return found;
  throw new OperationRefused('not_found', `${finders[name].refusal} ${id}`);
}

/** Finds an account by its id, in upper or lower case, or by its name. */
export function findAccount(world: Registry, idOrName: string): Account | undefined {
  const account = world.accounts.get(idOrName.toLowerCase());
  if (account !== undefined) return account;
  for (const each of world.accounts.values()) if (each.name === idOrName) return each;
  return undefined;
}

/** The id of an account in a filter. An unknown id stays: it matches nothing. */
export function accountIdOf(world: Registry, idOrName: string, path: string): string {
  const account = findAccount(world, idOrName);
  if (account !== undefined) return account.accountId;
  if (z.uuid().safeParse(idOrName).success) return idOrName;
  const message = `${JSON.stringify(idOrName)} is neither a UUID nor the name of an account`;
  throw new OperationRefused('invalid', message, path);
}
