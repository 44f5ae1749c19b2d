/** Collects the results of a walk over a simulation: what was checked, and what is broken. */

/** The largest number of lines: a broken world of a million messages could produce a million. */
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
  /** One line for each finding: the rule, then what is wrong. */
  readonly broken: string[] = [];

  report(rule: string, what: string): void {
    if (this.broken.length < mostLines) this.broken.push(`${rule} ${what}`);
  }
}
