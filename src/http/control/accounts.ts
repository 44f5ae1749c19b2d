/**
 * Accounts and keys on the control port.
 */
import { z } from 'zod';
import {
  type AccountInput,
  type AccountPatch,
  accountInputSchema,
  accountPatchSchema,
  accountViewSchema,
  createdKeySchema,
  type KeyInput,
  keyInputSchema,
  keyViewSchema,
} from '../../operations/accounts.ts';
import type { Route } from './route.ts';

export const accountRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/accounts',
    summary: 'All accounts.',
    status: 200,
    result: z.strictObject({ accounts: z.array(accountViewSchema) }),
    run: ({ simulator }) => ({ accounts: simulator.accounts.list() }),
  },
  {
    method: 'POST',
    path: '/control/accounts',
    summary: 'A new account, without keys and SIMs.',
    status: 201,
    body: accountInputSchema,
    result: accountViewSchema,
    refusals: [409],
    run: ({ simulator, body }) => simulator.accounts.create(body as AccountInput),
  },
  {
    method: 'GET',
    path: '/control/accounts/{account_id}',
    summary: 'One account.',
    status: 200,
    result: accountViewSchema,
    run: ({ simulator, ids: [id = ''] }) => simulator.accounts.get(id),
  },
  {
    method: 'PATCH',
    path: '/control/accounts/{account_id}',
    summary: 'Renames an account or changes its plan.',
    status: 200,
    body: accountPatchSchema,
    result: accountViewSchema,
    refusals: [409],
    run: ({ simulator, ids: [id = ''], body }) =>
      simulator.accounts.patch(id, body as AccountPatch),
  },
  {
    method: 'DELETE',
    path: '/control/accounts/{account_id}',
    summary: 'Deletes an account with its keys, SIMs and messages.',
    status: 204,
    run: ({ simulator, ids: [id = ''] }) => simulator.accounts.delete(id),
  },
  {
    method: 'GET',
    path: '/control/accounts/{account_id}/keys',
    summary: 'The keys of an account, without their full text.',
    status: 200,
    result: z.strictObject({ keys: z.array(keyViewSchema) }),
    run: ({ simulator, ids: [id = ''] }) => ({ keys: simulator.accounts.keys(id) }),
  },
  {
    method: 'POST',
    path: '/control/accounts/{account_id}/keys',
    summary: 'A new key: the only time its full text is shown.',
    status: 201,
    body: keyInputSchema,
    result: createdKeySchema,
    run: ({ simulator, ids: [id = ''], body }) =>
      simulator.accounts.createKey(id, body as KeyInput),
  },
  {
    method: 'DELETE',
    path: '/control/keys/{key_id}',
    summary: 'Revokes a key.',
    status: 204,
    run: ({ simulator, ids: [id = ''] }) => simulator.accounts.revokeKey(id),
  },
];
