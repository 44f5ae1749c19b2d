/** Part of `npm run test:fixtures`: all clients of docs/double-sends.md, in each language. */
import { expect, test } from 'vitest';
import { pageClients, verdictsOn } from './double-sends.ts';

test.each(pageClients)(
  'docs/double-sends.md: $file sends twice, and once with a request_id',
  async (client) => {
    const { asPrinted, mended } = await verdictsOn(client);
    expect(asPrinted).toMatchObject({
      exitCode: 1,
      printed: expect.stringContaining('FOUND  CLIENT-5'),
    });
    expect(mended.exitCode, mended.printed).toBe(0);
  },
);
