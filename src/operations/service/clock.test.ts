/** Moving time from JSON and from JavaScript. */
import { expect, test } from 'vitest';
import { Twin } from '#verify/testkit/twin/twin.ts';

test('a bare number in JSON names no unit and is refused', async () => {
  const { call } = new Twin();
  const { status, json } = await call('POST', '/control/clock/advance', { by: 60 });
  expect(status).toBe(400);
  expect(json.error).toMatchObject({
    path: 'by',
    message: 'expected a text with its unit: write "60s" for 60 seconds; got 60',
  });
});

test('the method takes numbers as milliseconds', () => {
  const { simulator } = new Twin();
  const startMs = simulator.clock.now();
  simulator.clock.advance(1_500);
  simulator.clock.advance({ by: 500 });
  expect(simulator.clock.now() - startMs).toBe(2_000);
});
