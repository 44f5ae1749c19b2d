/** A request to a shard that gets no reply: whether the shard may have read it. */
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { ask } from './ask.ts';

const post = { method: 'POST', path: '/', body: '{}' };

test('a request is not sent if no connection opens, whatever the reason', async () => {
  // No address of a host: the system refuses to connect to it.
  const error = ask('http://255.255.255.255:9', post);
  await expect(error).rejects.toMatchObject({ name: 'Unanswered', isSent: false });
});

test('a request may have been read if the connection closes without a reply', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const error = ask(`http://127.0.0.1:${port}`, post);
  await expect(error).rejects.toMatchObject({ name: 'Unanswered', isSent: true });
  server.close();
});
