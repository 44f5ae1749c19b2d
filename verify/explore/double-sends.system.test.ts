/**
 * docs/double-sends.md: one client of each language that CI has. `npm run test:fixtures` runs all.
 */
import { expect, test } from 'vitest';
import { pageClients, verdictsOn } from './double-sends.ts';

test.concurrent.each(['with-axios.mjs', 'with_requests.py', 'send.sh'])(
  '%s sends twice as it is printed, and once with a request_id',
  async (name) => {
    const client = pageClients.find(({ file }) => file === name);
    if (client === undefined) throw new Error(`the page has no ${name}`);
    const { asPrinted, mended } = await verdictsOn(client);
    expect(asPrinted.printed).toContain('FOUND  CLIENT-5  lost_response at send 1, attempt 1');
    expect(asPrinted.exitCode).toBe(1);
    expect(mended.printed).toContain(' 0 findings');
    expect(mended.exitCode).toBe(0);
  },
);

test('the page has a client of each library', () => {
  expect(pageClients.map(({ file }) => file)).toEqual([
    'with-axios.mjs',
    'with-got.mjs',
    'with-ky.mjs',
    'with_requests.py',
    'with_httpx.py',
    'send.go',
    'send.sh',
    'Send.java',
    'SendByHttpClient.java',
  ]);
});
