/**
 * Refuses contradictory flags that commander accepts, before anything starts or is sent. A flag
 * from the environment is named by its variable, because that is where the user must change it.
 */
import type { Command } from 'commander';
import { fitsHeader } from './header-text.ts';
import type { TargetFlags } from './target.ts';
import { UsageError } from './usage-error.ts';

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
export function refuseWithoutBaseUrl(program: Command): void {
  for (const name of ofATarget) {
    const value: unknown = program.getOptionValue(name);
    if (value === undefined || value === '') continue;
    // `serve` reads the same variable, so it does not imply a target.
    if (name === 'controlToken' && isOfEnvironment(program, name)) continue;
    throw new UsageError(
      `${givenAs(program, name)} needs a base_url: without one, conform checks a simulator of its own`,
    );
  }
}

/** Values that are sent in a header. */
const secrets = [
  'apiKey',
  'otherApiKey',
  'secondApiKey',
  'revokedKey',
  'exhaustedApiKey',
  'controlToken',
];

/** Checked here and not by commander, whose message would repeat the key. */
export function refuseUnsendable(program: Command): void {
  for (const name of secrets) {
    const value: unknown = program.getOptionValue(name);
    if (typeof value !== 'string' || fitsHeader(value)) continue;
    throw new UsageError(
      `${givenAs(program, name)} holds a character that no header can carry, such as a line break`,
    );
  }
}

/** Refuses a `--to` that is not among the allowed recipients. */
export function refuseOtherRecipient(
  { to }: TargetFlags,
  allowTo: readonly string[] | undefined,
): void {
  if (to !== undefined && allowTo !== undefined && !allowTo.includes(to))
    throw new UsageError(`option '--to' is ${to}, which --allow-to does not include`);
}

function givenAs(program: Command, name: string): string {
  const option = program.options.find((one) => one.attributeName() === name);
  return (isOfEnvironment(program, name) ? option?.envVar : option?.long) ?? name;
}

function isOfEnvironment(program: Command, name: string): boolean {
  return program.getOptionValueSource(name) === 'env';
}
