/** What entries of received messages are made of, told apart by their values. */
import { expect, test } from 'vitest';
import { inferReceived } from './infer-received.ts';

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
