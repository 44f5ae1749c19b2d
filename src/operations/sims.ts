/**
 * SIMs: paired, unpaired, deactivated, polled by hand; and what reaches their numbers from outside.
 * Rules: SVC-1, SVC-3, AUTH-5, ERR-2, STATE-2.
 */
import { z } from 'zod';
import { numberSchema, pollingSchema } from '../config/world-schema.ts';
import type { Device } from '../sim/device.ts';
import { LeverError } from '../sim/lever-error.ts';
import { entryOf, type ReceivedEntry } from '../sim/received.ts';
import { findAccount } from './accounts.ts';
import { timeSchema } from './duration.ts';
import { readInput } from './input.ts';
import type { Live } from './live.ts';
import { type SimView, simView } from './sim-view.ts';

export const simInputSchema = z.strictObject({
  number: numberSchema,
  connected: z.boolean().exactOptional(),
  active: z.boolean().exactOptional(),
  polling: pollingSchema.exactOptional(),
});
export const simPatchSchema = z.strictObject({
  active: z.boolean().exactOptional(),
  connected: z.boolean().exactOptional(),
  polling: pollingSchema.exactOptional(),
  allowed: z.boolean().exactOptional().describe('False: the account may not send from it.'),
});
export const receivedInputSchema = z.strictObject({
  from: z.string().min(1).max(100).describe('Whoever wrote: a number or a name.'),
  to: numberSchema,
  message: z.string().max(10_000),
});

export const receivedListQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
});
export interface ReceivedListQuery {
  readonly limit?: number | undefined;
}

export const pollViewSchema = z.strictObject({
  picked_up: z.array(z.uuid()).describe('Ids of the messages that became `sending`.'),
});
export const receivedViewSchema = z.strictObject({
  message_id: z.uuid(),
  device_id: z.uuid(),
  from_number: z.string(),
  to: z.string(),
  message: z.string(),
  received_at: timeSchema,
});

export type SimInput = Readonly<z.input<typeof simInputSchema>>;
export type SimPatch = Readonly<z.input<typeof simPatchSchema>>;
export type PollView = Readonly<z.output<typeof pollViewSchema>>;
export type ReceivedInput = Readonly<z.input<typeof receivedInputSchema>>;

export class SimLevers {
  readonly #live: Live;

  constructor(live: Live) {
    this.#live = live;
  }

  list(accountId: string): SimView[] {
    return findAccount(this.#live, accountId).devices.map(simView);
  }

  /** The numbers of the shared pool. */
  pool(): SimView[] {
    return this.#live.simulation.world.pool.map(simView);
  }

  create(accountId: string, input: SimInput): SimView {
    return this.#live.change('sims.create', [accountId, input], () => {
      const account = findAccount(this.#live, accountId);
      const { number, ...state } = readInput(simInputSchema, input);
      return this.#changed(this.#live.simulation.world.createSim(account, number, state));
    });
  }

  patch(deviceId: string, input: SimPatch): SimView {
    return this.#live.change('sims.patch', [deviceId, input], () => {
      const device = this.#find(deviceId);
      const patch = readInput(simPatchSchema, input);
      if (device.account === undefined && patch.polling === 'external') {
        // `tasksAccess: owner`: a number of the pool has no owner whose key could poll it.
        const message = `${device.number} is a number of the pool: it belongs to no account whose key could poll it, so it polls by itself`;
        throw new LeverError('conflict', message, 'polling');
      }
      this.#live.simulation.world.patchDevice(device, patch);
      return this.#changed(device);
    });
  }

  /** The device polls at once: progress is reported, work is picked up. */
  poll(deviceId: string): PollView {
    return this.#live.change('sims.poll', [deviceId], () => {
      const taken = this.#live.simulation.fleet.pollNow(this.#find(deviceId));
      return { picked_up: taken.map(({ messageId }) => messageId) };
    });
  }

  /** An inbound message, to a SIM of the account or to a number of the shared pool. */
  receive(accountId: string, input: ReceivedInput): ReceivedEntry {
    return this.#live.change('sims.receive', [accountId, input], () => {
      const account = findAccount(this.#live, accountId);
      const { from, to, message } = readInput(receivedInputSchema, input);
      const { world } = this.#live.simulation;
      const device = world.deviceByNumber(to);
      if (device === undefined || (device.account ?? account) !== account) {
        throw new LeverError('invalid', `the account has no number ${to}`, 'to');
      }
      return entryOf(world.receiveMessage(device, account, from, message));
    });
  }

  /** The newest inbound messages of an account, newest first. */
  received(accountId: string, query: ReceivedListQuery = {}): ReceivedEntry[] {
    const { limit } = readInput(receivedListQuerySchema, query);
    return findAccount(this.#live, accountId).received.slice(-limit).reverse().map(entryOf);
  }

  #changed(device: Device): SimView {
    const view = simView(device);
    if (this.#live.activity.isWatched) this.#live.activity.publish('sim', view);
    return view;
  }

  #find(deviceId: string): Device {
    const device = this.#live.simulation.world.devices.get(deviceId);
    if (device === undefined) throw new LeverError('not_found', `no SIM has the id ${deviceId}`);
    return device;
  }
}
