/** The operations on inbound messages, which SIMs and numbers of the shared pool receive. */
import { z } from 'zod';
import { numberSchema } from '../../config/world-schema.ts';
import { OperationRefused } from '../../sim/errors.ts';
import { entryOf } from '../../sim/read.ts';
import { defineOperation } from '../define.ts';
import { limitSchema, timeSchema } from '../query.ts';

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

/** Methods of `sim.sims`. */
export const receivedMessages = {
  received: defineOperation({
    http: 'GET /control/accounts/{account_id}/received',
    summary: 'The inbound messages of an account, newest first.',
    input: z.strictObject({ limit: limitSchema({ largest: 1_000, fallback: 200 }) }).prefault({}),
    output: z.strictObject({ received: z.array(receivedViewSchema) }),
    examples: [{ limit: 5 }],
    run: (_, account, { limit }) => account.received.slice(-limit).reverse().map(entryOf),
    reply: (received) => ({ received }),
  }),

  allReceived: defineOperation({
    http: 'GET /control/received',
    summary: 'The inbound messages of all accounts, newest first.',
    input: z.strictObject({ limit: limitSchema({ largest: 1_000, fallback: 200 }) }).prefault({}),
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
      if (device === undefined || (device.account ?? account) !== account) {
        throw new OperationRefused('invalid', `the account has no number ${to}`, 'to');
      }
      return entryOf(world.receiveMessage(device, account, from, message));
    },
  }),
};
