/**
 * The operations on SIMs and the shared pool: list, create, change, poll and remove them. Also
 * those on inbound messages, which SIMs and numbers of the pool receive.
 * Rules: SVC-1, SVC-3, AUTH-5, ERR-2, STATE-2. Assumes: failsFrom.
 */
import { z } from 'zod';
import { numberSchema, pollingSchema } from '../../config/world-schema.ts';
import type { Device } from '../../sim/accounts/account.ts';
import { conflict, OperationRefused } from '../../sim/errors.ts';
import { entryOf } from '../../sim/read.ts';
import { defineOperation } from '../define.ts';
import { limitSchema, timeSchema } from '../input-fields.ts';
import type { RunningWorld } from '../running-world.ts';
import { type SimView, simJoin, simView, simViewSchema } from '../views.ts';

const simInputSchema = z.strictObject({
  number: numberSchema,
  connected: z.boolean().exactOptional(),
  active: z.boolean().exactOptional(),
  polling: pollingSchema.exactOptional(),
});
const { number: _, ...changeableFields } = simInputSchema.shape;

const receivedViewSchema = z
  .strictObject({
    message_id: z.uuid(),
    device_id: z.uuid(),
    from_number: z.string(),
    to: z.string(),
    message: z.string(),
    received_at: timeSchema,
  })
  .meta({ id: 'ReceivedMessage' });
const ownedReceivedSchema = receivedViewSchema
  .extend({ account_id: z.uuid() })
  .meta({ id: 'OwnedReceivedMessage' });
const receivedInputSchema = z
  .strictObject({ limit: limitSchema({ largest: 1_000, fallback: 200 }) })
  .prefault({});

/** The failure reason of unfinished messages of a removed SIM. */
const simRemoved = 'sim_removed';

export const sims = {
  list: defineOperation({
    http: 'GET /control/accounts/{account_id}/sims',
    summary: 'The SIMs of an account.',
    output: z.strictObject({ sims: z.array(simViewSchema) }),
    run: (_, { devices }) => devices.map(simView),
    reply: (sims) => ({ sims }),
  }),

  all: defineOperation({
    http: 'GET /control/sims',
    summary: 'All SIMs: those of every account, and the numbers of the shared pool.',
    output: z.strictObject({ sims: z.array(simViewSchema) }),
    fleet: { joined: { sims: { by: 'device_id', fields: simJoin } } },
    run: ({ simulation }) => [...simulation.world.devices.values()].map(simView),
    reply: (sims) => ({ sims }),
  }),

  get: defineOperation({
    http: 'GET /control/sims/{device_id}',
    summary: 'One SIM.',
    output: simViewSchema,
    fleet: { joined: simJoin },
    run: (_, device) => simView(device),
  }),

  create: defineOperation({
    http: 'POST /control/accounts/{account_id}/sims',
    summary: 'Pairs a new SIM.',
    status: 201,
    input: simInputSchema,
    output: simViewSchema,
    refusals: [409],
    examples: [{ number: '+12025550177' }, { number: '+12025550178', polling: 'external' }],
    run: (live, account, { number, ...state }) =>
      publishView(live, live.simulation.world.createSim(account, number, state)),
  }),

  patch: defineOperation({
    http: 'PATCH /control/sims/{device_id}',
    summary: 'Changes a SIM or a pool number: connected, active, allowed, or who polls.',
    input: z.strictObject({
      ...changeableFields,
      allowed: z.boolean().exactOptional().describe('False: the account may not send from it.'),
    }),
    output: simViewSchema,
    fleet: { joined: simJoin },
    refusals: [409],
    examples: [
      { allowed: false },
      { connected: false },
      { connected: true },
      { active: false },
      { active: true },
      { polling: 'external' },
      { polling: 'simulated' },
    ],
    run: (live, device, patch) => {
      if (device.account === undefined && patch.polling === 'external') {
        const message = `${device.number} is a number of the pool: it belongs to no account whose key could poll it, so it polls by itself`;
        throw conflict(message, 'polling');
      }
      live.simulation.world.patchDevice(device, patch);
      return publishView(live, device);
    },
  }),

  delete: defineOperation({
    http: 'DELETE /control/sims/{device_id}',
    summary: 'Removes a SIM, or a number of the shared pool. Its messages stay.',
    description: `Messages that are not final fail with \`${simRemoved}\`; 409 if the assumption failsFrom forbids that.`,
    refusals: [409],
    run: removeSim,
  }),

  poll: defineOperation({
    http: 'POST /control/sims/{device_id}/poll',
    summary: 'Makes the device poll now: it reports progress and picks up work.',
    output: z.strictObject({
      picked_up: z.array(z.uuid()).describe('Ids of the messages that became `sending`.'),
    }),
    fleet: { joined: { picked_up: { all: 'unchanged' } } },
    refusals: [409],
    run: ({ simulation }, device) => {
      const taken = simulation.deviceActors.pollNow(device);
      return { picked_up: taken.map(({ messageId }) => messageId) };
    },
  }),

  pool: defineOperation({
    http: 'GET /control/pool',
    fleet: { scope: 'local' },
    summary: 'The numbers of the shared pool.',
    output: z.strictObject({ sims: z.array(simViewSchema) }),
    run: ({ simulation }) => simulation.world.pool.map(simView),
    reply: (sims) => ({ sims }),
  }),

  addToPool: defineOperation({
    http: 'POST /control/pool',
    summary: 'A new number of the shared pool.',
    status: 201,
    input: z.strictObject({ number: numberSchema }),
    output: simViewSchema,
    fleet: { joined: simJoin },
    refusals: [409],
    examples: [{ number: '+12025550198' }],
    run: (live, { number }) => publishView(live, live.simulation.world.createPoolNumber(number)),
  }),

  removeFromPool: defineOperation({
    http: 'DELETE /control/pool/{device_id}',
    fleet: { scope: 'all' },
    summary: 'Removes a number of the shared pool. Its messages stay, as with any SIM.',
    refusals: [409],
    run: (live, device) => {
      if (device.account !== undefined)
        throw new OperationRefused('not_found', `the SIM ${device.number} belongs to an account`);
      removeSim(live, device);
    },
  }),

  received: defineOperation({
    http: 'GET /control/accounts/{account_id}/received',
    summary: 'The inbound messages of an account, newest first.',
    input: receivedInputSchema,
    output: z.strictObject({ received: z.array(receivedViewSchema) }),
    examples: [{ limit: 5 }],
    run: (_, account, { limit }) => account.received.slice(-limit).reverse().map(entryOf),
    reply: (received) => ({ received }),
  }),

  allReceived: defineOperation({
    http: 'GET /control/received',
    summary: 'The inbound messages of all accounts, newest first.',
    input: receivedInputSchema,
    output: z.strictObject({ received: z.array(ownedReceivedSchema) }),
    fleet: { joined: { received: { by: 'account_id', newest: 'received_at' } } },
    examples: [{ limit: 5 }],
    run: ({ simulation }, { limit }) => {
      const candidates = [...simulation.world.accounts.values()].flatMap((account) =>
        account.received.slice(-limit).map((message) => ({ account, message })),
      );
      candidates.sort((a, b) => b.message.receivedAtMs - a.message.receivedAtMs);
      return candidates
        .slice(0, limit)
        .map(({ account, message }) => ({ ...entryOf(message), account_id: account.accountId }));
    },
    reply: (received) => ({ received }),
  }),

  receive: defineOperation({
    http: 'POST /control/accounts/{account_id}/received',
    summary: 'Adds an inbound message, to a SIM of the account or to a number of the shared pool.',
    status: 201,
    input: z.strictObject({
      from: z.string().min(1).max(100).describe('The sender: a number or a name.'),
      to: numberSchema,
      message: z.string().max(10_000),
    }),
    output: receivedViewSchema,
    examples: [{ from: '+12025550199', to: '+12025550101', message: 'hi \u{1F600}' }],
    run: ({ simulation: { world } }, account, { from, to, message }) => {
      const device = world.deviceByNumber(to);
      if (device === undefined || (device.account ?? account) !== account)
        throw new OperationRefused('invalid', `the account has no number ${to}`, 'to');
      return entryOf(world.receiveMessage(device, account, from, message));
    },
  }),
};

/** Removes a SIM after failing its unfinished messages; refused if one of them may not fail. */
function removeSim({ simulation, activity }: RunningWorld, device: Device): void {
  const { world, deviceActors } = simulation;
  const { failsFrom } = world.assumptions;
  const unfinished = world.messages.unfinishedOf(device);
  const unfailable = unfinished.find(({ status }) => !failsFrom.some((from) => from === status));
  if (unfailable !== undefined) {
    throw conflict(
      `message ${unfailable.messageId} is ${unfailable.status} and cannot fail (failsFrom); wait for its end, or delete the account`,
    );
  }
  for (const message of unfinished) deviceActors.fail(message, simRemoved);
  world.removeDevice(device);
  activity.publish('sim', { ...simView(device), deleted: true });
}

/** The view of a SIM that has changed, also reported as an event. */
function publishView({ activity }: RunningWorld, device: Device): SimView {
  const view = simView(device);
  if (activity.hasAudience) activity.publish('sim', view);
  return view;
}
