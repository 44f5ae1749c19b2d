/**
 * What a walk over a simulation has looked at, and what it found broken.
 */

/** Beyond so many lines nobody reads on, and a world of a million messages may be broken a million times. */
export const mostLines = 100;

export class Findings {
  readonly checked = {
    accounts: 0,
    keys: 0,
    devices: 0,
    messages: 0,
    replays: 0,
    buckets: 0,
    timers: 0,
  };
  /** The rule and the thing, a line each. */
  readonly broken: string[] = [];

  report(rule: string, what: string): void {
    if (this.broken.length < mostLines) this.broken.push(`${rule} ${what}`);
  }
}
