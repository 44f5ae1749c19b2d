/** Runs scenarios of `smstwin bench` as a program; further arguments are passed on. */
import { bench } from './main.ts';
import type { ScenarioName } from './scenarios/bench-case.ts';

export async function runScenarios(names: readonly ScenarioName[]): Promise<void> {
  const io = {
    out: (text: string) => void process.stdout.write(text),
    error: (text: string) => void process.stderr.write(text),
    env: {},
    version: 'bench',
  };
  const flags = names.flatMap((name) => ['--scenario', name]);
  process.exitCode = await bench([...flags, ...process.argv.slice(2)], io);
}
