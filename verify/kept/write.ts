/**
 * Writes the kept files of a version: `npx tsx verify/kept/write.ts`. Only for a version that is not
 * released yet: afterwards they must load as they are, for ever.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Simulator } from '../../src/simulator.ts';
import { root } from '../testkit/doc-commands.ts';
import { bearer, postTo, sendPaths } from '../testkit/request.ts';

const folder = join(root, 'verify/kept/1.0');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const world = {
  accounts: [
    {
      name: 'acme',
      monthly_quota: 100,
      keys: [{ name: 'first', key: 'kept-key-1' }],
      sims: [{ number: '+12025550101', connected: true, polling: 'simulated' as const }],
    },
  ],
  pool: [{ number: '+12025550190' }],
  outcomes: [{ to: '+1202555016*', ends: 'failed' as const, in: 'sending' as const, polls: 2 }],
  assumptions: { keyFormat: 'kept_' },
  limits: { send: 5 },
};
writeFileSync(join(folder, 'world.json'), `${JSON.stringify(world, null, 2)}\n`);
const simulator = new Simulator(
  { clock: 'manual', seed: 10, world, startTime: '2026-01-01T00:00:00.000Z' },
  { journal: join(folder, 'journal.ndjson') },
);
const send = (to: string, requestId: string) =>
  simulator.handle(
    postTo(
      sendPaths.send,
      { to, from: '+12025550101', message: 'Hello', request_id: requestId },
      { host: 'localhost', authorization: bearer('kept-key-1'), clientIp: '127.0.0.1' },
    ),
  );
send('+12025550123', 'one');
simulator.clock.advance('40s');
send('+12025550123', 'one');
send('+12025550160', 'two');
simulator.faults.add({
  match: { endpoint: 'send' },
  when: { nth: [1] },
  fault: { kind: 'lost_response' },
});
send('+12025550124', 'three');
simulator.clock.advance('3m');
writeFileSync(join(folder, 'snapshot.json'), `${JSON.stringify(simulator.snapshots.take())}\n`);
await simulator.close();
rmSync(join(folder, 'journal.ndjson.lock'), { force: true });
const conform = [
  'src/main.ts',
  'conform',
  'SEND-3',
  '--report',
  `json=${join(folder, 'report.json')}`,
];
execFileSync('node', ['--import', 'tsx', ...conform], { cwd: root, stdio: 'ignore' });
