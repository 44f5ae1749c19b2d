/** Finds the object that the id in an operation's path refers to. An account may also be named. */
import type { Fault } from '../http/service/fault.ts';
import type { RecordedExchange } from '../recording/recorded-exchange.ts';
import type { Account, ApiKey, Device, Message } from '../sim/accounts/account.ts';
import { OperationRefused } from '../sim/errors.ts';
import { isReadable } from '../sim/store/message-view.ts';
import type { HostedWorld } from '../worlds/hosted-world.ts';
import { accountCalled } from './query.ts';
import type { RunningWorld } from './running-world.ts';

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

const finders: {
  readonly [Name in keyof Targets]: (live: RunningWorld, id: string) => Targets[Name] | undefined;
} = {
  account_id: ({ simulation }, id) => accountCalled(simulation.world, id),
  key_id: ({ simulation }, id) => simulation.world.keys.get(id),
  device_id: ({ simulation }, id) => simulation.world.devices.get(id),
  message_id: ({ simulation: { world } }, id) => {
    const message = world.messages.get(id);
    return message && isReadable(message, world.now(), world.assumptions) ? message : undefined;
  },
  fault_id: ({ simulation }, id) => simulation.faults.list.find(({ faultId }) => faultId === id),
  number: ({ exchangeRecord }, id) =>
    /^[0-9]+$/.test(id) ? exchangeRecord.get(Number(id)) : undefined,
  world_id: ({ hosting }, id) => hosting.get(id),
};

/** The middle of the message `no … <id>`. */
const refusalTexts: Readonly<Record<keyof Targets, string>> = {
  account_id: 'account has the id or name',
  key_id: 'key has the id',
  device_id: 'SIM has the id',
  message_id: 'message has the id',
  fault_id: 'fault has the id',
  number: 'request in the log has the number',
  world_id: 'world has the id',
};

/** The object with this id. Refused with `not_found` if there is none. */
export function find<Name extends keyof Targets>(
  name: Name,
  live: RunningWorld,
  id: string,
): Targets[Name] {
  const found = finders[name](live, id);
  if (found !== undefined) return found;
  throw new OperationRefused('not_found', `no ${refusalTexts[name]} ${id}`);
}
