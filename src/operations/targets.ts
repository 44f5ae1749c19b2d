/**
 * What the ids in the paths of operations stand for. An account may also be called by its name.
 */
import type { Account, ApiKey } from '../sim/account.ts';
import type { Device } from '../sim/device.ts';
import { LeverError } from '../sim/lever-error.ts';
import type { Message } from '../sim/message.ts';
import type { World } from '../sim/world.ts';
import type { Live } from './live.ts';

export interface Targets {
  readonly account_id: Account;
  readonly key_id: ApiKey;
  readonly device_id: Device;
  readonly message_id: Message;
}

const finders: {
  readonly [Name in keyof Targets]: (world: World, id: string) => Targets[Name] | undefined;
} = {
  account_id: (world, id) => world.accounts.get(id) ?? accountNamed(world, id),
  key_id: (world, id) => world.keys.get(id),
  device_id: (world, id) => world.devices.get(id),
  message_id: (world, id) => world.messages.get(id),
};

const words: Readonly<Record<keyof Targets, string>> = {
  account_id: 'account',
  key_id: 'key',
  device_id: 'SIM',
  message_id: 'message',
};

export function find<Name extends keyof Targets>(
  name: Name,
  live: Live,
  id: unknown,
): Targets[Name] {
  const found = finders[name](live.simulation.world, String(id));
  if (found !== undefined) return found;
  throw new LeverError('not_found', `no ${words[name]} has the id ${String(id)}`);
}

function accountNamed(world: World, name: string): Account | undefined {
  for (const account of world.accounts.values()) if (account.name === name) return account;
  return undefined;
}
