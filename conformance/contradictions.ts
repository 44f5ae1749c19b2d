/**
 * Refuses contradictory flags that commander accepts, before anything starts or is sent. A flag
 * from the environment is named by its variable, because that is where the user must change it.
 */
import type { Command } from 'commander';
import { UsageError } from '../src/commands/command-error.ts';
import { givenAs, isOnCommandLine } from '../src/commands/flags.ts';
import type { TargetFlags } from './known.ts';

/** Flags that a run without a base_url sets itself, on its own simulator. It does use `--to`. */
const ofATarget = [
  'apiKey',
  'otherApiKey',
  'secondApiKey',
  'secondFrom',
  'exhaustedFrom',
  'revokedKey',
  'exhaustedApiKey',
  'deviceId',
  'from',
  'inactiveFrom',
  'foreignFrom',
  'unknownFrom',
  'controlUrl',
  'controlToken',
];

/** Refuses flags that describe a target if no target is given. */
export function refuseWithoutBaseUrl(program: Command, argv: readonly string[]): void {
  for (const name of ofATarget) {
    const value: unknown = program.getOptionValue(name);
    if (value === undefined || value === '') continue;
    // `serve` reads the same variable, so it does not imply a target.
    if (name === 'controlToken' && !isOnCommandLine('--control-token', argv)) continue;
    throw new UsageError(
      `${givenAs(program, name, argv)} needs a base_url: without one, conform checks a simulator of its own`,
    );
  }
}

/** Refuses a `--to` that is not among the allowed recipients. */
export function refuseOtherRecipient({ to }: TargetFlags, allowTo: readonly string[]): void {
  if (to !== undefined && allowTo.length > 0 && !allowTo.includes(to))
    throw new UsageError(`option '--to' is ${to}, which --allow-to does not include`);
}
