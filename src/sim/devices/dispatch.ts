/**
 * The only interface through which `src/sim/` announces work. `src/actors/` implements it;
 * `src/simulation/simulation.ts` connects the two.
 */
import type { Device, Message } from '../accounts/account.ts';

export interface Dispatch {
  deviceAdded(device: Device): void;
  /** A patch was applied to the device, or messages of a deleted account left its work. */
  deviceChanged(device: Device): void;
  deviceRemoved(device: Device): void;
  /** A message was accepted and waits for its device. */
  queued(message: Message): void;
  /**
   * A real device asks for its tasks: one poll, if permitted. Returns the messages that it picked
   * up, in order.
   */
  polled(device: Device): readonly Message[];
}
