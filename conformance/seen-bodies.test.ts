import { expect, test } from 'vitest';
import type { Reply } from './client.ts';
import { SeenBodies } from './seen-bodies.ts';
import { RuleBroken } from './verify.ts';

const id = '7b0f7f3e-2c44-4a7e-9a39-0d6f4a1f6a01';
const good = {
  status: 'queued',
  message_id: id,
  request_id: '',
  device_id: '7b0f7f3e-2c44-4a7e-9a39-0d6f4a1f6a02',
  from_number: '+12025550101',
  to: '+12125550150',
  created_at: '2026-03-01T10:00:00.070Z',
};
const fields = { from: good.from_number, to: good.to, message: 'x' };

/** Notes a send with these fields and its reply. */
function sent(seen: SeenBodies, status: number, change: object, more: object = {}): void {
  const body = JSON.stringify({ ...fields, ...more });
  const reply = { status, json: { ...good, ...change } } as unknown as Reply;
  seen.note({ method: 'POST', path: '/api/v1/sms/send/', body }, reply);
}

function read(seen: SeenBodies, change: object): void {
  const reply = { status: 200, json: { ...good, ...change } } as unknown as Reply;
  seen.note({ method: 'GET', path: `/api/v1/sms/${id}/` }, reply);
}

test('RES-4: one malformed time among good ones is found', () => {
  const seen = new SeenBodies(false);
  sent(seen, 202, {});
  sent(seen, 202, { created_at: '2026-03-01T10:00:00.7Z' });
  sent(seen, 202, {});
  expect(() => seen.judge('RES-4')).toThrow(RuleBroken);
  expect(() => seen.judge('RES-1')).not.toThrow();
});

test('RES-4: a read that shows another created_at than the 202 is found', () => {
  const seen = new SeenBodies(false);
  sent(seen, 202, {});
  read(seen, { created_at: '2026-03-01T10:00:01.000Z' });
  expect(() => seen.judge('RES-4')).toThrow('created_at of a read');
});

test('RES-2: a 202 from another number than the one that was named is found', () => {
  const seen = new SeenBodies(false);
  sent(seen, 202, { from_number: '+12025550102' });
  expect(() => seen.judge('RES-2')).toThrow('from_number of a 202');
});

test('RES-2: a 202 to a send with both sender fields may show either number', () => {
  const seen = new SeenBodies(false);
  sent(seen, 202, {}, { from_number: '+12025550102' });
  seen.judge('RES-2');
  expect(seen.count).toBe(1);
});

test('RES-5: a held message may have a status that the document does not name', () => {
  const seen = new SeenBodies(false);
  sent(seen, 202, {}, { send_at: '2026-03-02T10:00:00.000Z' });
  read(seen, { status: 'scheduled' });
  seen.judge('RES-5');
  expect(seen.count).toBe(2);
});

test('refusals and lists of received messages are not judged as Message bodies', () => {
  const seen = new SeenBodies(false);
  sent(seen, 400, { created_at: 1 });
  const reply = { status: 200, json: { results: [] } } as unknown as Reply;
  seen.note({ method: 'GET', path: '/api/v1/sms/received/' }, reply);
  expect(seen.count).toBe(0);
});
