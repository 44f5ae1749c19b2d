/**
 * Any number of random sequences, simulator against model: `npm run test:deep -- <sequences> <seed>`.
 * The work is spread over one process a core; chunks have seeds of their own, so that the seed of a failure is
 * printed with its path and the shrunk sequence, and `npm run test:deep -- 1 <seed> <path>` plays it again.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { checkSequences } from './commands.ts';

const chunkSize = 1000;
const reportEveryMs = 30_000;

const [sequences = 10_000, seed = 1] = process.argv.slice(2, 4).map(Number);
const third = process.argv[4];
if (!Number.isSafeInteger(sequences) || sequences < 1 || !Number.isSafeInteger(seed)) {
  console.error('usage: npm run test:deep -- <sequences> <seed> [path]');
  process.exit(2);
}
if (third === 'chunk') checkSequences({ sequences, seed });
else if (third === undefined) await spread();
else checkSequences({ sequences, seed, path: third });

/** Chunks go to whichever process is free; the first disagreement ends the run. */
async function spread(): Promise<void> {
  const startedMs = performance.now();
  const seconds = () => Math.round((performance.now() - startedMs) / 1000);
  const chunks = Array.from({ length: Math.ceil(sequences / chunkSize) }, (_, i) => ({
    size: Math.min(chunkSize, sequences - i * chunkSize),
    seed: seed * 1_000_000 + i,
  }));
  let next = 0;
  let done = 0;
  let failures = 0;
  const timer = setInterval(
    () => console.log(`${done} of ${sequences} sequences, ${seconds()} s`),
    reportEveryMs,
  );
  const work = async () => {
    for (let chunk = chunks[next++]; chunk && failures === 0; chunk = chunks[next++]) {
      if (await runChunk(chunk.size, chunk.seed)) done += chunk.size;
      else failures += 1;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  clearInterval(timer);
  const verdict = failures === 0 ? 'no disagreement' : 'DISAGREEMENT, see above';
  console.log(`${done} sequences, seed ${seed}, ${seconds()} s: ${verdict}`);
  process.exitCode = failures === 0 ? 0 : 1;
}

function runChunk(size: number, chunkSeed: number): Promise<boolean> {
  const script = fileURLToPath(import.meta.url);
  const args = ['--import', 'tsx', script, String(size), String(chunkSeed), 'chunk'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code === 0)));
}
