import { expect, test } from 'vitest';
import { exchangesOfHar } from '#verify/testkit/traffic-text.ts';
import { runOf } from './verdict.ts';

const accepted = (second: number) => ({
  startedDateTime: `2026-01-01T00:00:0${second}.000Z`,
  time: 12,
  request: {
    method: 'POST',
    url: 'https://sms.example/api/v1/sms/send/',
    headers: [{ name: 'Authorization', value: 'Bearer smst_secret' }],
    postData: {
      mimeType: 'application/json',
      text: '{"to":"+12025550123","from":"+12025550101","message":"Hi"}',
    },
  },
  response: {
    status: 202,
    headers: [],
    content: { text: `{"message_id":"m${second}","status":"queued"}` },
  },
});

test.each([
  [1, 2, 'the client ended without an error, but 1 message was accepted, and 2 without faults'],
  [2, 1, 'a message was sent twice: 2 messages were accepted, and 1 without faults'],
])('%d accepted messages in place of %d are counted in words', async (found, wanted, text) => {
  const entries = Array.from({ length: found }, (_, second) => accepted(second));
  const exchanges = await exchangesOfHar(JSON.stringify({ log: { version: '1.2', entries } }));
  const run = {
    ending: { kind: 'passed', how: '', tail: '' },
    seen: exchanges.map((exchange) => ({ exchange, point: undefined, fault: undefined })),
    intents: undefined as never,
    reports: undefined,
    endsUndelivered: () => false,
  } as const;
  const expected = {
    accepted: undefined,
    total: wanted,
    texts: new Map(),
    equalMessages: new Map(),
  };
  const { failures } = runOf(run, [], expected, { mayFail: false });
  expect(failures.map(({ what }) => what.split(';')[0])).toContain(text);
});
