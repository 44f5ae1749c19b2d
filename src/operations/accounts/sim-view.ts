/** A SIM, as the control port shows it. */
import { z } from 'zod';
import { eachOf } from '#io/grouped.ts';
import { pollingSchema } from '../../config/world-schema.ts';
import type { Device } from '../../sim/accounts/account.ts';

export const simViewSchema = z
  .strictObject({
    device_id: z.uuid(),
    number: z.string(),
    account_id: z.uuid().nullable().describe('Null: a number of the shared pool.'),
    connected: z.boolean(),
    active: z.boolean(),
    polling: pollingSchema,
    allowed: z.boolean(),
    queue_length: z.int().min(0).describe('Messages that wait for its pickup, held ones included.'),
  })
  .meta({ id: 'Sim' });
export type SimView = Readonly<z.output<typeof simViewSchema>>;

/** How a fleet joins the views of one SIM: each shard has a queue for a number of the pool. */
export const simJoin = {
  ...eachOf(
    ['device_id', 'number', 'account_id', 'connected', 'active', 'polling', 'allowed'],
    'equal',
  ),
  queue_length: 'sum',
} as const;

export function simView(device: Device): SimView {
  return {
    device_id: device.deviceId,
    number: device.number,
    account_id: device.account?.accountId ?? null,
    connected: device.connected,
    active: device.active,
    polling: device.polling,
    allowed: device.allowed,
    queue_length: device.work.queueLength,
  };
}
