/**
 * The refusal of an operation: a mistake of the simulator's user, not a refusal by the service.
 * Methods throw it; the control port answers it as a JSON error.
 */
export class OperationRefused extends Error {
  /** The kind of mistake. */
  readonly code: 'invalid' | 'not_found' | 'conflict' | 'timeout' | 'unavailable';
  /** Where in the input, such as `sims[0].number`. */
  readonly path: string | undefined;

  constructor(code: OperationRefused['code'], message: string, path?: string) {
    super(message);
    this.name = 'OperationRefused';
    this.code = code;
    this.path = path;
  }
}

/** Throws if there are already `most`. */
export function refuseMore(count: number, most: number, what: string): void {
  if (count >= most) throw new OperationRefused('conflict', `there are ${most} ${what} already`);
}
