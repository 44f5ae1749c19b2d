/** Many simulators one after another: each leaves its memory, timers and ports. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { kinds } from '#verify/testkit/transport-fixture.ts';
import { sendBy } from '#verify/testkit/twin/twin.ts';
import { Simulator } from '../simulator.ts';

test('a thousand simulators, started and closed, leave nothing behind', async () => {
  const live = async () => {
    const simulator = new Simulator();
    simulator.activity.openStream(() => {});
    sendBy(simulator, 0, { send_at: '2999-01-01T00:00:00Z' });
    await simulator.close();
  };
  for (let n = 0; n < 200; n++) await live();
  const before = { heap: heapBytes(), resources: process.getActiveResourcesInfo().length };
  for (let n = 0; n < 1_000; n++) await live();
  expect(process.getActiveResourcesInfo()).toHaveLength(before.resources);
  // A single simulator holds more than this divided by the thousand.
  expect(heapBytes() - before.heap).toBeLessThan(3_000_000);
});

test.each(kinds)(
  '%s: ports opened and closed a hundred times are free again',
  async (transport) => {
    let port = 0;
    for (let n = 0; n < 100; n++) {
      const simulator = new Simulator();
      const { baseUrl } = await simulator.listen({ transport, port, control: {} });
      port = Number(new URL(baseUrl).port);
      await simulator.close();
    }
    expect(port).toBeGreaterThan(0);
  },
);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
