/** Which figures of the statistics a template fills in. */
import { expect, test } from 'vitest';
import { inferStats } from './infer-stats.ts';

const place = { at: '', maxAccepted: 3, undetermined: [] };

test('a figure of every status is named by its status, however it changed', () => {
  const before = { queued: 4, sending: 0, sent: 0, delivered: 7, failed: 0 };
  const after = { queued: 2, sending: 1, sent: 0, delivered: 9, failed: 0 };
  expect(inferStats({ of: before }, { of: after }, place)).toEqual({
    of: {
      queued: '{queued}',
      sending: '{sending}',
      sent: '{sent}',
      delivered: '{delivered}',
      failed: '{failed}',
    },
  });
});

test('a figure called sent that stands alone counts what was accepted', () => {
  expect(inferStats({ sent: 4 }, { sent: 5 }, place)).toEqual({ sent: '{accepted}' });
});

test('a figure that did not change is known by its name or left out, never a constant', () => {
  const undetermined: string[] = [];
  const reply = { inbound: 3, monthly: 100_000, devices: 2, shard: 7, plan: 'basic' };
  expect(inferStats(reply, reply, { ...place, undetermined })).toEqual({
    inbound: '{received}',
    monthly: '{quota_limit}',
    devices: '{sims_connected}',
    plan: 'basic',
  });
  expect(undetermined).toEqual(['.shard is a figure that did not change: 7']);
});

test('a figure that changed by more than was sent is left out', () => {
  const undetermined: string[] = [];
  expect(inferStats({ a: 1, uptime: 5 }, { a: 2, uptime: 90 }, { ...place, undetermined })).toEqual(
    {
      a: '{accepted}',
    },
  );
  expect(undetermined).toEqual(['.uptime changed from 5 to 90']);
});
