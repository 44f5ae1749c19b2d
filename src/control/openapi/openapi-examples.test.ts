/** The examples of the OpenAPI document equal the replies of the default world. */
import { expect, test } from 'vitest';
import type { EndpointName } from '#contract/limits.ts';
import { defaultAssumptions } from '../../sim/assumptions.ts';
import { Simulator } from '../../simulator.ts';
import { exampleSend, exampleSendByAlias, replyOf } from './reply-bodies.ts';

test('the examples are replies of the default world with seed 1', () => {
  const simulator = new Simulator({ clock: 'manual', seed: 1 });
  const [acme] = simulator.readyFile().accounts;
  const sim = acme?.sims[0];
  const ask = (path: string, body?: object) => {
    const { status, body: text } = simulator.handle({
      method: body === undefined ? 'GET' : 'POST',
      path,
      query: '',
      authorization: `Bearer ${acme?.api_key}`,
      contentType: 'application/json',
      clientIp: '127.0.0.1',
      forwardedFor: undefined,
      body: body === undefined ? '' : JSON.stringify(body),
    });
    return { status, json: JSON.parse(text) as Readonly<Record<string, unknown>> };
  };
  const example = (endpoint: EndpointName) => replyOf(endpoint, defaultAssumptions).example;
  const send = '/api/v1/sms/send/';

  const first = ask(send, exampleSend);
  expect(first).toEqual({ status: 202, json: example('send') });
  expect(ask('/api/sms/send/', exampleSend)).toEqual({
    status: 200,
    json: example('dashboard_send'),
  });
  expect(ask('/api/external/send/', exampleSend).json).toEqual(example('external_send'));

  simulator.clock.advance('5m');
  const read = ask(`/api/v1/sms/${String(first.json['message_id'])}/`);
  expect(read).toEqual({ status: 200, json: example('read') });

  simulator.sims.patch(String(sim?.device_id), { polling: 'external' });
  expect(ask(send, exampleSendByAlias).status).toBe(202);
  expect(ask(`/api/devices/${sim?.device_id}/tasks/`).json).toEqual(example('tasks'));

  simulator.sims.receive(String(acme?.account_id), {
    from: exampleSend.to,
    to: exampleSend.from,
    message: 'Thank you!',
  });
  expect(ask('/api/v1/sms/received/').json).toEqual(example('received'));
  expect(ask('/api/v1/account/stats/').json).toEqual(example('stats'));
});
