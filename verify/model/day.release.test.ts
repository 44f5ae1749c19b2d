/** A whole day at the documented rates: half a million sends, too many for each change. */
import { expect, test } from 'vitest';
import { minuteMs } from '#contract/time.ts';
import { recipient, Twin } from '#verify/testkit/twin/twin.ts';

test('SEND-4 a day at the documented rates of three endpoints loses no message and no request_id', () => {
  const settings = { assumptions: { monthlyQuota: 'unlimited' } } as const;
  const twin = new Twin(settings, { journal: false });
  const paths = ['/api/v1/sms/send/', '/api/sms/send/', '/api/external/send/'];
  const send = (path: string, n: number) =>
    twin.post(path, {
      to: recipient,
      from: '+12025550101',
      message: 'hi',
      request_id: `${path}${n}`,
    });
  const first = paths.map((path) => send(path, 0));
  const perMinute = 120;
  const minutes = 1_440;
  for (let minute = 0; minute < minutes; minute++) {
    const from = minute * perMinute;
    for (let n = Math.max(1, from); n < from + perMinute; n++)
      for (const path of paths) if (send(path, n).status !== 202) throw new Error(`${path} ${n}`);
    if (minute < minutes - 1) twin.advance(minuteMs);
  }
  const { messages } = twin.simulation.world;
  expect(messages.size).toBe(paths.length * perMinute * minutes);
  expect(messages.retention).toMatchObject({ forgottenMessages: 0, forgottenRequestIds: 0 });
  twin.advance(minuteMs);
  for (const [n, path] of paths.entries()) {
    expect(send(path, 0)).toMatchObject({ status: 200, body: first[n]?.body });
    expect(twin.read(first[n]?.json['message_id']).status).toBe(200);
  }
});
