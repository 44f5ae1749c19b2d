/**
 * Plays random sequences on the simulator and the model, and sends hostile requests:
 * `npm run test:deep -- <sequences> <seed> --fuzz <requests>`.
 * The sequences run in one process per core. Each chunk has its own seed; a failure prints the
 * seed, the path and the shrunk sequence, and `npm run test:deep -- 1 <seed> --path <path>` replays
 * it.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { fuzzTransports } from '../fuzz/report.ts';
import { checkSequences } from './commands.ts';
import { type DeepOptions, readDeepOptions } from './deep-options.ts';

const chunkSize = 1000;
const reportEveryMs = 30_000;

await main(optionsOrExit());

function optionsOrExit(): DeepOptions {
  try {
    return readDeepOptions(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

async function main(options: DeepOptions): Promise<void> {
  const { sequences, seed, path, alone, fuzz } = options;
  if (path !== undefined) checkSequences({ sequences, seed, path });
  else if (alone) checkSequences({ sequences, seed });
  else if (sequences > 0 && !(await spread(sequences, seed))) process.exitCode = 1;
  if (fuzz > 0 && !(await fuzzTransports(options))) process.exitCode = 1;
}

/** Gives chunks to idle processes; the first disagreement ends the run. */
async function spread(sequences: number, seed: number): Promise<boolean> {
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
  return failures === 0;
}

function runChunk(size: number, chunkSeed: number): Promise<boolean> {
  const script = fileURLToPath(import.meta.url);
  const args = ['--import', 'tsx', script, String(size), String(chunkSeed), '--alone'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code === 0)));
}
