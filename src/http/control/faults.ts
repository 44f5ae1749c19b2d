/**
 * Faults on the control port.
 */
import { z } from 'zod';
import { type FaultInput, faultInputSchema, faultViewSchema } from '../../operations/faults.ts';
import type { Route } from './route.ts';

export const faultRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/faults',
    summary: 'The faults that are set, and how often each has acted.',
    status: 200,
    result: z.strictObject({ faults: z.array(faultViewSchema) }),
    run: ({ simulator }) => ({ faults: simulator.faults.list() }),
  },
  {
    method: 'POST',
    path: '/control/faults',
    summary: 'Sets a fault.',
    status: 201,
    body: faultInputSchema,
    bodyLimitBytes: 1_048_576,
    result: faultViewSchema,
    refusals: [409],
    run: ({ simulator, body }) => simulator.faults.add(body as FaultInput),
  },
  {
    method: 'DELETE',
    path: '/control/faults',
    summary: 'Takes all faults away.',
    status: 204,
    run: ({ simulator }) => simulator.faults.clear(),
  },
  {
    method: 'DELETE',
    path: '/control/faults/{fault_id}',
    summary: 'Takes one fault away.',
    status: 204,
    run: ({ simulator, ids: [id = ''] }) => simulator.faults.remove(id),
  },
];
