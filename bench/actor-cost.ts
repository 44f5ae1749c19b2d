/**
 * Measures the simulated lifecycle of a message, and whether its cost grows: microseconds from
 * `queued` to `delivered` for 100,000 and for 1,000,000 messages, without the sends, and the cost
 * of 100,000 held messages while none is due.
 * Run: node --expose-gc --import tsx bench/actor-cost.ts [messages…]
 */
import { createSimulator, type Simulator } from '../src/simulator.ts';
import { preload, sendRequest } from './servers/preload.ts';

const sims = 100;
const accounts = [
  {
    name: 'bench',
    sims: Array.from({ length: sims }, (_, n) => ({
      number: `+1202557${String(n).padStart(4, '0')}`,
    })),
  },
];

function newSimulator(): Promise<Simulator> {
  return createSimulator({ clock: 'manual', noLimits: true, world: { accounts } });
}

async function deliver(count: number): Promise<void> {
  const simulator = await newSimulator();
  const [account] = simulator.readyFile().accounts;
  const requests = (account?.sims ?? []).map(({ number: from }) =>
    sendRequest(account?.api_key ?? '', { to: '+12025550199', from, message: 'Delivered.' }),
  );
  for (let n = 0; n < count; n++) {
    const request = requests[n % requests.length];
    if (request !== undefined) simulator.handle(request);
  }
  globalThis.gc?.();
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  simulator.clock.advance({ until_idle: true });
  const seconds = (performance.now() - startedMs) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const { delivered } = simulator.state().messages;
  await simulator.close();
  if (delivered !== count) throw new Error(`${delivered} of ${count} messages were delivered`);
  const micros = ((user + system) / count).toFixed(2);
  process.stdout.write(
    `${String(count).padStart(9)} delivered ${micros} CPU us each, ${seconds.toFixed(1)} s\n`,
  );
}

async function held(count: number): Promise<void> {
  const simulator = await newSimulator();
  const base = simulator.clock.state().now;
  const sendAt = new Date(Date.parse(base) + 12 * 3_600_000).toISOString();
  const [account] = simulator.readyFile().accounts;
  const body = {
    to: '+12025550199',
    from: account?.sims[0]?.number,
    message: 'Held.',
    send_at: sendAt,
  };
  const request = sendRequest(account?.api_key ?? '', body);
  for (let n = 0; n < count; n++) simulator.handle(request);
  const cpu = process.cpuUsage();
  const { fired } = simulator.clock.advance({ by: '11h' });
  const { user, system } = process.cpuUsage(cpu);
  const ms = ((user + system) / 1_000).toFixed(1);
  process.stdout.write(
    `${count} held    11 simulated hours: ${fired} timers fired, ${ms} CPU ms\n`,
  );
  simulator.clock.advance({ until_idle: true });
  const { delivered } = simulator.state().messages;
  await simulator.close();
  if (delivered !== count) throw new Error(`${delivered} of ${count} held messages were delivered`);
}

// Lets the compiler settle.
const warm = await newSimulator();
preload(warm, 20_000);
warm.clock.advance({ until_idle: true });
await warm.close();
const counts = process.argv.slice(2).map(Number);
for (const count of counts.length > 0 ? counts : [100_000, 1_000_000]) await deliver(count);
await held(100_000);
