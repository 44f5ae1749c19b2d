/**
 * The lists of what belongs to an account: the account itself, its keys and its SIMs; and the shared
 * pool. As in `lists.ts`, everything else follows from the operations.
 */
import type { ListDeclaration } from './list-declaration.ts';

export const accountList: ListDeclaration = {
  title: 'The account',
  readOperation: 'accounts.list',
  keyColumn: 'account_id',
  columns: ['name', 'monthly_quota', 'quota_used', 'effective_monthly_quota'],
  wideColumns: ['effective_monthly_quota'],
  editOperation: 'accounts.patch',
  actions: [
    {
      operation: 'accounts.delete',
      label: 'Delete',
      warning: 'Its keys, SIMs and messages are deleted, too.',
      nextAddress: () => '#/accounts',
    },
  ],
  emptyText: 'There is no such account.',
};

export const simList: ListDeclaration = {
  title: 'SIMs',
  readOperation: 'sims.all',
  keyColumn: 'device_id',
  columns: ['number', 'connected', 'active', 'allowed', 'polling', 'queue_length'],
  links: {
    queue_length: ({ number }) =>
      `#/messages?from=${encodeURIComponent(`${number}`)}&status=queued`,
  },
  editOperation: 'sims.patch',
  actions: [
    {
      operation: 'sims.poll',
      label: 'Poll now',
      outcomeText: ({ picked_up: ids }) => `${(ids as readonly unknown[]).length} picked up`,
    },
    {
      operation: 'sims.delete',
      label: 'Remove',
      warning: 'Its unfinished messages fail. Its messages stay.',
    },
  ],
  forms: [
    {
      operation: 'sims.create',
      title: 'Connect a SIM',
      submit: 'Connect SIM',
      fields: ['number', 'polling'],
      placeholders: { number: '+12025550177' },
    },
  ],
  emptyText: 'It has no SIM of its own: it sends from the shared pool.',
};

export const poolList: ListDeclaration = {
  ...simList,
  title: 'The shared pool',
  forms: [
    {
      operation: 'sims.addToPool',
      title: 'Add a number to the shared pool',
      submit: 'Add number',
      placeholders: { number: '+12025550198' },
    },
  ],
  emptyText: 'The pool has no number.',
  lead: 'Numbers for accounts without a connected SIM of their own.',
};

export const keyList: ListDeclaration = {
  title: 'API keys',
  readOperation: 'accounts.allKeys',
  keyColumn: 'key_id',
  columns: ['name', 'prefix', 'created_at', 'revoked_at'],
  links: { prefix: ({ prefix }) => `#/requests?search=key%3A${prefix}` },
  wideColumns: ['created_at'],
  actions: [
    {
      operation: 'accounts.revokeKey',
      label: 'Revoke',
      warning: 'Requests with this key are answered 401 from now on.',
      isOfferedFor: ({ revoked_at: revokedAt }) => revokedAt === null,
    },
  ],
  forms: [
    {
      operation: 'accounts.createKey',
      title: 'New key',
      submit: 'Create key',
      placeholders: { name: 'What the key is for' },
      oneTimeFacts: ({ name, key }) => [[String(name), String(key)]],
    },
  ],
  emptyText: 'There is no key.',
};
