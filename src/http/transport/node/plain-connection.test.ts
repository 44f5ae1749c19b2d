import { expect, test } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { dial, echo, start } from '#verify/testkit/transport-fixture.ts';

const text = JSON.stringify({ text: 'ö'.repeat(3) });
const heads = [
  'GET /a?b=c%20d HTTP/1.1',
  'HEAD /a HTTP/1.1',
  'DELETE /none HTTP/1.1',
  'POST /created HTTP/1.1',
  'POST /fails HTTP/1.1',
];
const headers = 'Host: x\r\nAuthorization: Bearer k\r\nX-Forwarded-For: 1.2.3.4\r\n';
const service = (request: ApiRequest) => {
  if (request.path === '/fails') throw new Error('planted');
  if (request.path === '/none') return { status: 204, body: '' };
  const status = request.path === '/created' ? 201 : 200;
  return { ...echo(request), status, headers: { 'x-own': '1', 'content-type': 'text/plain' } };
};

test.each(heads)('%s: node:http writes the same bytes', async (head) => {
  const { port } = await start('node', { service }, { now: () => 1_800_000_000_000 });
  const body = head.startsWith('POST') ? text : '';
  const length = head.startsWith('POST') ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : '';
  const plain = `${head}\r\n${headers}${length}\r\n${body}`;
  // Node's parser takes it alone, as it holds a header that the other way leaves to it.
  const other = plain.replace('Host: x', 'Host: x\r\nTE: trailers');
  const replies: string[] = [];
  for (const bytes of [plain, other]) {
    const socket = await dial(port);
    await socket.write(`${bytes}GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    replies.push(await socket.rest());
  }
  expect(replies[0]).toContain('HTTP/1.1 ');
  expect(replies[0]).toBe(replies[1]);
});

test('each body is its own, under a head that repeats and over a view of what arrived', async () => {
  const bodies = ['ab', 'ba', 'ö', '\ufffd', '\ufffda', '\0\x7f', ''].map((body) =>
    Buffer.from(body),
  );
  bodies.push(Buffer.of(0xff), Buffer.of(0x61, 0x80), Buffer.of(0xed, 0xa0, 0x80));
  const seen: string[] = [];
  const service = ({ path, body }: ApiRequest) => {
    seen.push(`${path} ${Buffer.from(body).toString('hex')}`);
    return { status: 204, body: '' };
  };
  const { port } = await start('node', { service });
  const socket = await dial(port);
  const expected: string[] = [];
  for (const path of ['/a', '/a', '/b', '/a']) {
    for (const body of bodies) {
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
      await socket.write(Buffer.concat([Buffer.from(head), body]));
      await socket.reply();
      expected.push(`${path} ${body.toString('hex')}`);
    }
  }
  expect(seen).toEqual(expected);
});

test('a request cut anywhere, and requests that wait for a reply, are served in order', async () => {
  const delayed = (request: ApiRequest) => ({
    ...echo(request),
    ...(request.path === '/0' && { delivery: { delayMs: 30 } }),
  });
  const { port } = await start('node', { service: delayed });
  const one = (at: number) =>
    `POST /${at} HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  const all = [0, 1, 2, 3].map(one).join('');
  for (const cuts of [[], [90], [20, 130], [one(0).length - 1], [one(0).length + 70, 250]]) {
    const socket = await dial(port);
    await socket.write(all, cuts);
    for (let at = 0; at < 4; at++) {
      const { path, body } = JSON.parse((await socket.reply()).body);
      expect([path, body]).toEqual([`/${at}`, text]);
    }
    socket.destroy();
  }
});
