/**
 * What a lever refuses: a mistake of the simulator's user, not a refusal of the service.
 * Thrown by methods, and one JSON error on the control port.
 */
export class LeverError extends Error {
  /** What kind of mistake it is. */
  readonly code: 'invalid' | 'not_found' | 'conflict' | 'timeout';
  /** Where in the input, such as `sims[0].number`. */
  readonly path: string | undefined;

  constructor(code: LeverError['code'], message: string, path?: string) {
    super(message);
    this.name = 'LeverError';
    this.code = code;
    this.path = path;
  }
}

/** Refuses one more of what has `count` already. */
export function refuseMore(count: number, most: number, what: string): void {
  if (count >= most) throw new LeverError('conflict', `there are ${most} ${what} already`);
}
