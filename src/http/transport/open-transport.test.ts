/**
 * The fallback when the native module does not load. A file of its own: modules load once per
 * process.
 */
import { expect, test } from 'vitest';
import { openTransport } from './open-transport.ts';

test('without a native build the service runs on Node and says why in one line', async () => {
  process.env['SMSTWIN_UWS'] = '/no/such/build';
  const service = () => ({ status: 200, body: '{}' });
  const opened = await openTransport('hyperexpress', { service });
  expect(opened.kind).toBe('node');
  expect(opened.fallbackReason).toMatch(/^No usable uWebSockets.js for .*own HTTP server\.$/);
  expect(opened.fallbackReason).toContain('reinstall smstwin');
  const port = await opened.transport.listen(0, '127.0.0.1');
  const reply = await fetch(`http://127.0.0.1:${port}/x`);
  expect(reply.status).toBe(200);
  await opened.transport.close();
});
