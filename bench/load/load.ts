/**
 * The input of both load generators.
 */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Load {
  readonly connections: number;
  readonly durationMs: number;
  /** In open loop; undefined saturates. */
  readonly perSecond?: number | undefined;
  /** Ends a saturating load early, after this many replies. */
  readonly requests?: number;
  /** Called at the end of the measurement, while the last replies still arrive. */
  readonly whenOver?: () => void;
}

/** A connection with a longer reply is closed: a server that never ends one must not fill the memory. */
export const mostReplyBytes = 1_048_576;
