/**
 * What cannot be meant by flags that commander takes, told before anything is started or sent.
 * A flag that came from the environment is called by its variable, which is where to look for it.
 */
import type { Command } from 'commander';
import { fitsHeader } from './header-text.ts';
import type { TargetFlags } from './target.ts';
import { UsageError } from './usage-error.ts';

/**
 * What a run without a base_url makes itself, on a simulator of its own; it does send to `--to`.
 */
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

/** Refuses a flag that describes a target where no target is given. */
export function refuseWithoutBaseUrl(program: Command): void {
  for (const name of ofATarget) {
    const value: unknown = program.getOptionValue(name);
    if (value === undefined || value === '') continue;
    // `serve` reads the same variable, so that it says nothing of a target.
    if (name === 'controlToken' && isOfEnvironment(program, name)) continue;
    throw new UsageError(
      `${givenAs(program, name)} needs a base_url; without one a simulator of its own is checked`,
    );
  }
}

/** What is sent in a header. */
const secrets = [
  'apiKey',
  'otherApiKey',
  'secondApiKey',
  'revokedKey',
  'exhaustedApiKey',
  'controlToken',
];

/** Not asked of commander, whose line would repeat the key. */
export function refuseUnsendable(program: Command): void {
  for (const name of secrets) {
    const value: unknown = program.getOptionValue(name);
    if (typeof value !== 'string' || fitsHeader(value)) continue;
    throw new UsageError(
      `${givenAs(program, name)} holds a character that no header can carry, such as a line break`,
    );
  }
}

/** One recipient at most is written to, and it is one of those that are allowed. */
export function refuseOtherRecipient(
  { to }: TargetFlags,
  allowTo: readonly string[] | undefined,
): void {
  if (to !== undefined && allowTo !== undefined && !allowTo.includes(to))
    throw new UsageError(`option '--to' is ${to}, which is not among those of --allow-to`);
}

function givenAs(program: Command, name: string): string {
  const option = program.options.find((one) => one.attributeName() === name);
  return (isOfEnvironment(program, name) ? option?.envVar : option?.long) ?? name;
}

function isOfEnvironment(program: Command, name: string): boolean {
  return program.getOptionValueSource(name) === 'env';
}
