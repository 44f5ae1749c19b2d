/** Which figures of the statistics a template fills in. */
import { expect, test } from 'vitest';
import { figures } from './infer-stats.ts';

const place = { at: '', most: 3, untold: [] };

test('a figure of every status is named by its status, however it changed', () => {
  const before = { queued: 4, sending: 0, sent: 0, delivered: 7, failed: 0 };
  const after = { queued: 2, sending: 1, sent: 0, delivered: 9, failed: 0 };
  expect(figures({ of: before }, { of: after }, place)).toEqual({
    of: {
      queued: '{queued}',
      sending: '{sending}',
      sent: '{sent}',
      delivered: '{delivered}',
      failed: '{failed}',
    },
  });
});

test('a figure called sent that stands alone counts what was accepted', () => {
  expect(figures({ sent: 4 }, { sent: 5 }, place)).toEqual({ sent: '{accepted}' });
});
