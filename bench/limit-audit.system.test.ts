/** The audit finds no breach on the service as documented, and each planted one. */
import { expect, test } from 'vitest';
import { ownAudit } from './limit-audit.ts';

const quiet = { accounts: 2, minutes: 2, onProgress: () => {} };

test('LIMIT-1 the service as documented passes the audit', async () => {
  const run = await ownAudit({ ...quiet, limits: {} });
  expect(run.invalid).toEqual([]);
  expect(run.endpoints.map(({ endpoint }) => endpoint).toSorted()).toEqual([
    'dashboard_send',
    'external_send',
    'received',
    'send',
    'tasks',
  ]);
  for (const found of run.endpoints)
    expect(found).toMatchObject({ over: 0, under: 0, fullestWindow: found.limit });
});

test.each([
  [119, 'under', 'over'],
  [121, 'over', 'under'],
] as const)(
  'LIMIT-1 a planted limit of %i is caught as %s-admission',
  async (send, kind, other) => {
    const run = await ownAudit({ ...quiet, accounts: 1, limits: { send } });
    const found = run.endpoints.find(({ endpoint }) => endpoint === 'send');
    expect(found?.[kind]).toBeGreaterThan(0);
    expect(found?.[other]).toBe(0);
    expect(run.endpoints.filter((one) => one.over + one.under > 0)).toHaveLength(1);
  },
);
