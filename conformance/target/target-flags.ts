/**
 * The flags that describe a target, declared in one table: the command line, the refusal of flags
 * that contradict each other, and the keys that no report may show follow from it.
 */
import type { Command } from 'commander';
import { UsageError } from '#io/command-error.ts';
import { headerValue, phoneNumber } from '#io/flag-values.ts';
import type { Flag } from '#io/flags.ts';
import { isOnCommandLine, refuseWithoutNeeds } from '#io/given-flags.ts';

/** What kind of value a flag takes, and what it means. */
type FlagRow = readonly [kind: 'key' | 'id' | 'number', about: string];

const flagTable = {
  apiKey: ['key', 'a key of the account to send with'],
  otherApiKey: ['key', 'another key of the same account'],
  secondApiKey: ['key', "another account's key"],
  revokedKey: ['key', 'a key that was revoked'],
  exhaustedApiKey: ['key', 'a key of an account whose quota is spent'],
  deviceId: ['id', 'the id of the device behind --from'],
  from: ['number', 'a number that the account may send from'],
  to: ['number', 'the recipient of messages'],
  secondFrom: ['number', 'a number that the account of --second-api-key may send from'],
  exhaustedFrom: ['number', 'a number that the account of --exhausted-api-key may send from'],
  inactiveFrom: ['number', 'a number of the account whose SIM is deactivated'],
  foreignFrom: ['number', 'a number that exists but that the account may not use'],
  unknownFrom: ['number', 'a number that no SIM has'],
} as const satisfies Record<string, FlagRow>;

export type TargetFlag = keyof typeof flagTable;
export type TargetFlags = Readonly<Partial<Record<TargetFlag, string>>>;

const flagNames = Object.keys(flagTable) as TargetFlag[];

/** The flag of this name, such as `--api-key`. */
export function flagOf(name: TargetFlag): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export const flagsOfTarget: readonly Flag[] = flagNames.map((name) => {
  const [kind, about] = flagTable[name];
  return kind === 'number'
    ? { flag: `${flagOf(name)} <number>`, about, parse: phoneNumber }
    : { flag: `${flagOf(name)} <value>`, about, parse: headerValue };
});

export function targetFlagsIn(given: Readonly<Record<string, unknown>>): TargetFlags {
  const present = flagNames.filter((name) => given[name] !== undefined);
  return Object.fromEntries(present.map((name) => [name, given[name]]));
}

export function keysIn(flags: TargetFlags): string[] {
  return flagNames.flatMap((name) => (flagTable[name][0] === 'key' ? (flags[name] ?? []) : []));
}

/** Refuses flags of a target, except `--to`, for a run that starts a simulator of its own. */
export function refuseWithoutTarget(command: Command, baseUrl: string | undefined): void {
  const refused = [...flagNames.filter((name) => name !== 'to'), 'controlUrl'];
  const needs = 'a base_url: without one, conform checks a simulator of its own';
  const hasBaseUrl = baseUrl !== undefined;
  refuseWithoutNeeds(
    command,
    refused.map((name) => ({ name, needs, isThere: hasBaseUrl })),
  );
  // `serve` reads the same variable, so the variable alone does not imply a target.
  if (!isOnCommandLine(command, 'controlToken')) return;
  const hasControl = command.getOptionValue('controlUrl') !== undefined;
  refuseWithoutNeeds(command, [
    { name: 'controlToken', needs, isThere: hasBaseUrl },
    { name: 'controlToken', needs: '--control-url', isThere: hasControl },
  ]);
}

/** Refuses a `--to` that is not among the allowed recipients. */
export function refuseOtherRecipient({ to }: TargetFlags, allowTo: readonly string[]): void {
  if (to !== undefined && allowTo.length > 0 && !allowTo.includes(to))
    throw new UsageError(`option '--to' is ${to}, which --allow-to does not include: add it there`);
}
