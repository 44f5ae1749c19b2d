/**
 * Plays random sequences on the simulator and the model, and sends hostile requests:
 * `npm run test:deep -- <sequences> <seed> --fuzz <requests>`.
 * The sequences run in one process per core. Each chunk has its own seed; a failure prints the
 * seed, the path and the shrunk sequence, and `npm run test:deep -- 1 <seed> --path <path>` replays
 * it.
 */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { fuzzTransports } from '../fuzz/run.ts';
import { runProgram } from '../testkit/processes/program-flags.ts';
import { isPoolProcess, runInPool, serveTasks } from '../testkit/processes/worker-pool.ts';
import { checkSequences } from './commands.ts';
import { deepOptions, deepProgram } from './deep-options.ts';

const chunkSize = 1000;
const reportEveryMs = 30_000;

interface Chunk {
  readonly sequences: number;
  readonly seed: number;
}

if (isPoolProcess) serveTasks(playChunk);
else {
  process.exitCode = await runProgram(deepProgram, (...options) => main(deepOptions(...options)));
}

async function main(options: ReturnType<typeof deepOptions>): Promise<number> {
  const { sequences, seed, path, fuzz, transports } = options;
  let isSound = true;
  if (path !== undefined) checkSequences({ sequences, seed, path });
  else if (sequences > 0) isSound = await playInPool(sequences, seed);
  if (fuzz > 0) await fuzzTransports(fuzz, seed, transports);
  return isSound ? 0 : 1;
}

/** Plays one chunk; returns the disagreement, if there is one. */
async function playChunk(chunk: Chunk): Promise<string> {
  try {
    checkSequences(chunk);
    return '';
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

/** Gives chunks to one process per core; false if a sequence shows a disagreement. */
async function playInPool(sequences: number, seed: number): Promise<boolean> {
  const startedMs = performance.now();
  const seconds = () => Math.round((performance.now() - startedMs) / 1000);
  const chunks = Array.from({ length: Math.ceil(sequences / chunkSize) }, (_, index) => ({
    sequences: Math.min(chunkSize, sequences - index * chunkSize),
    seed: seed * 1_000_000 + index,
  }));
  let done = 0;
  const timer = setInterval(
    () => console.log(`${done} of ${chunks.length} chunks, ${seconds()} s`),
    reportEveryMs,
  );
  const results = await runInPool<Chunk, string>({
    script: fileURLToPath(import.meta.url),
    processes: availableParallelism(),
    tasksAtOnce: 1,
    tasks: chunks,
    lost: (chunk) => `the process of seed ${chunk.seed} ended`,
    onDone: (disagreement) => {
      done += 1;
      if (disagreement !== '') console.error(disagreement);
    },
  });
  clearInterval(timer);
  const failures = results.filter((disagreement) => disagreement !== '').length;
  const verdict =
    failures === 0 ? 'no disagreement' : `DISAGREEMENT in ${failures} chunks, see above`;
  console.log(`${sequences} sequences, seed ${seed}, ${seconds()} s: ${verdict}`);
  return failures === 0;
}
