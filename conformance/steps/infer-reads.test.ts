/** What the templates of the replies that an account reads are inferred from. */
import { expect, test } from 'vitest';
import { inferReceived, inferStats } from './infer-reads.ts';

const recipient = {
  number: '+447700900101',
  deviceId: '3c5a0000-0000-4000-8000-000001000001',
};

test('members are identified by their values, whatever their names', () => {
  const entry = (n: number) => ({
    a: `0c2f7a51-5b0e-4f0b-9c1a-66d3a9e0f7b${n}`,
    b: recipient.deviceId,
    c: `+4477009009${n}0`,
    d: recipient.number,
    e: `inbound ${n}`,
    f: `2026-01-02T03:04:0${n}.000Z`,
    g: 'sms',
  });
  expect(inferReceived([entry(1), entry(2)], recipient)).toEqual({
    template: {
      body: {
        a: '{message_id}',
        b: '{device_id}',
        c: '{from_number}',
        d: '{to}',
        e: '{message}',
        f: '{received_at}',
        g: 'sms',
      },
    },
    undetermined: [],
  });
});

test('the names decide where one entry leaves it open', () => {
  const entry = {
    kind: 'sms',
    text: 'sms',
    id: '0c2f7a51-5b0e-4f0b-9c1a-66d3a9e0f7b1',
    sim: '0c2f7a51-5b0e-4f0b-9c1a-66d3a9e0f7b2',
  };
  expect(inferReceived([entry], { number: '+12025550101', deviceId: undefined })).toEqual({
    template: {
      body: { kind: 'sms', text: '{message}', id: '{message_id}', sim: '{device_id}' },
    },
    undetermined: [],
  });
});

test('a member that differs for an unknown reason is reported, and kept as it was first', () => {
  const entries = [{ price: 1 }, { price: 2 }];
  expect(inferReceived(entries, recipient)).toEqual({
    template: { body: { price: 1 } },
    undetermined: ['.price differs between entries'],
  });
});

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
