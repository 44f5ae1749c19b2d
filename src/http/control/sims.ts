/**
 * SIMs and inbound messages on the control port.
 */
import { z } from 'zod';
import { simViewSchema } from '../../operations/sim-view.ts';
import {
  pollViewSchema,
  type ReceivedInput,
  receivedInputSchema,
  receivedListQuerySchema,
  receivedViewSchema,
  type SimInput,
  type SimPatch,
  simInputSchema,
  simPatchSchema,
} from '../../operations/sims.ts';
import type { Route } from './route.ts';

export const simRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/accounts/{account_id}/sims',
    summary: 'The SIMs of an account.',
    status: 200,
    result: z.strictObject({ sims: z.array(simViewSchema) }),
    run: ({ simulator, ids: [id = ''] }) => ({ sims: simulator.sims.list(id) }),
  },
  {
    method: 'POST',
    path: '/control/accounts/{account_id}/sims',
    summary: 'Pairs a new SIM.',
    status: 201,
    body: simInputSchema,
    result: simViewSchema,
    refusals: [409],
    run: ({ simulator, ids: [id = ''], body }) => simulator.sims.create(id, body as SimInput),
  },
  {
    method: 'GET',
    path: '/control/pool',
    summary: 'The numbers of the shared pool.',
    status: 200,
    result: z.strictObject({ sims: z.array(simViewSchema) }),
    run: ({ simulator }) => ({ sims: simulator.sims.pool() }),
  },
  {
    method: 'PATCH',
    path: '/control/sims/{device_id}',
    summary: 'Connects, deactivates, or switches who polls; of a pool number too.',
    status: 200,
    body: simPatchSchema,
    result: simViewSchema,
    run: ({ simulator, ids: [id = ''], body }) => simulator.sims.patch(id, body as SimPatch),
  },
  {
    method: 'POST',
    path: '/control/sims/{device_id}/poll',
    summary: 'The device polls now.',
    status: 200,
    result: pollViewSchema,
    refusals: [409],
    run: ({ simulator, ids: [id = ''] }) => simulator.sims.poll(id),
  },
  {
    method: 'GET',
    path: '/control/accounts/{account_id}/received',
    summary: 'The inbound messages of an account, newest first.',
    status: 200,
    query: receivedListQuerySchema,
    result: z.strictObject({ received: z.array(receivedViewSchema) }),
    run: ({ simulator, ids: [id = ''], query }) => ({
      received: simulator.sims.received(id, query),
    }),
  },
  {
    method: 'POST',
    path: '/control/accounts/{account_id}/received',
    summary: 'An inbound message.',
    status: 201,
    body: receivedInputSchema,
    result: receivedViewSchema,
    run: ({ simulator, ids: [id = ''], body }) => simulator.sims.receive(id, body as ReceivedInput),
  },
];
