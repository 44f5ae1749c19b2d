/**
 * HAR files that Chromium (by Playwright) and mitmproxy (by its `har_dump.py`) have written of a
 * simulator: they are read without a complaint, and both show what they hold.
 */
import { expect, test } from 'vitest';
import { conform } from '#conformance/main.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';

test.each([
  ['chromium.har', 17],
  ['mitmproxy.har', 12],
])('%s is read without a complaint, and passes %i rules', async (name, passed) => {
  const said = { out: '', error: '' };
  const file = new URL(`../recorded/${name}`, import.meta.url).pathname;
  const code = await conform(['--traffic', file], {
    out: (text) => {
      said.out += text;
    },
    error: (text) => {
      said.error += text;
    },
    env: {},
    readTraffic,
  });
  expect([code, said.error]).toEqual([0, '']);
  expect(said.out).toContain(`${passed} of 43 rules passed`);
});
