/**
 * Measures the memory of a message: resident bytes for each of a million queued messages, and for
 * the same delivered, with their histories. In a fresh process, after full collections.
 * Run: node --expose-gc --import tsx bench/memory.ts [messages]
 */
import { createSimulator } from '../src/simulator.ts';
import { heapBytes } from './heap.ts';
import { preload } from './servers/preload.ts';

const messages = Number(process.argv[2] ?? 1_000_000);
const simulator = await createSimulator({
  clock: 'manual',
  noLimits: true,
  world: { accounts: [{ name: 'bench', sims: [{ number: '+12025550101' }] }] },
});

/** Does not keep the ids: they belong to the caller. */
function fill(count: number): void {
  for (let left = count; left > 0; left -= 10_000) preload(simulator, Math.min(left, 10_000));
}

fill(20_000);
simulator.clock.advance({ until_idle: true });
const heap = heapBytes();
const { rss } = process.memoryUsage();
fill(messages);
report('queued');
simulator.clock.advance({ until_idle: true });
report('delivered');
if (simulator.state().messages.delivered !== messages + 20_000)
  throw new Error('all are delivered');
await simulator.close();

function report(status: string): void {
  const heapEach = ((heapBytes() - heap) / messages).toFixed(0);
  const rssEach = ((process.memoryUsage().rss - rss) / messages).toFixed(0);
  process.stdout.write(
    `${messages} ${status.padEnd(10)} ${rssEach} bytes RSS each, ${heapEach} of heap\n`,
  );
}
