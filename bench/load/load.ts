/**
 * What both generators are told.
 */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Load {
  readonly connections: number;
  readonly durationMs: number;
  /** Ends it earlier, once so many replies have come. */
  readonly requests?: number;
  /** Called at the very end of what is measured, while the last replies still come in. */
  readonly whenOver?: () => void;
}
