/** What the record of exchanges knows of replays. */
import { expect, test } from 'vitest';
import { acmeNumber, recipient, Twin } from '#verify/testkit/twin/twin.ts';
import { recordedExchanges } from './exchange-record.ts';

const sends = { path: '/api/v1/sms/send/', method: 'POST', query: '' };

test('a replay names the send that it repeats among the last ones', async () => {
  const { simulator } = new Twin({ noLimits: true });
  const authorization = `Bearer ${simulator.readyFile().accounts[0]?.api_key}`;
  const send = (requestId: string) => {
    const fields = { to: recipient, from: acmeNumber, message: 'Hi', request_id: requestId };
    simulator.handle({
      ...sends,
      authorization,
      contentType: 'application/json',
      body: JSON.stringify(fields),
      clientIp: '127.0.0.1',
      forwardedFor: undefined,
    });
    const [newest] = simulator.exchangeRecord.newest();
    return newest?.repeats;
  };
  for (let n = 1; n <= recordedExchanges; n++) send(`order-${n}`);
  expect(send('order-1')).toBe(1);
  send('one more');
  expect(send('order-1')).toBeUndefined();
  expect(send('order-2')).toBe(2);
  simulator.reset();
  send('order-2');
  expect(send('order-2')).toBe(recordedExchanges + 5);
  await simulator.close();
});
