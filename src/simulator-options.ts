/** The options of a simulator: those of users, and those that only parts of the program set. */
import type { Settings } from './config/settings.ts';
import type { RecordBound } from './recording/exchange-record.ts';
import type { Simulation } from './simulation/simulation.ts';
import type { WorldSimulatorOptions } from './worlds/hosted-world.ts';
import type { Share } from './worlds/world-table.ts';

/** How a simulator records its run; every field is optional. */
export interface SimulatorOptions {
  /**
   * A file to which every input is appended. If it exists, its inputs are replayed first and the
   * run continues. Without it, memory keeps the inputs since the last reset, and drops all
   * of them above its bound; `false` keeps no inputs.
   */
  readonly journal?: string | false | undefined;
  /**
   * A folder with one journal for each world, named by its id; after a restart the worlds are there
   * again. In place of `journal`.
   */
  readonly journalDir?: string | undefined;
  /** After this many bytes of inputs, a checkpoint replaces them. Default 1 GiB. */
  readonly journalMaxBytes?: number | undefined;
  /** Called with one line that the user should see, about the journal or `maxMessages`. */
  readonly onNotice?: ((line: string) => void) | undefined;
}

/**
 * The options that users do not have: other parts of the program set them. Without a `worldId` it
 * is the first world, whose URLs carry no id.
 */
export interface SimulatorOptionsWithin<HostedWorlds>
  extends SimulatorOptions,
    Partial<WorldSimulatorOptions> {
  /** Creates each simulation; a defect passes a function that replaces classes. */
  readonly simulation?: ((settings: Settings, startMs: number) => Simulation) | undefined;
  /** How many requests are kept for the referee; set when reading a recorded run. */
  readonly recordBound?: RecordBound | undefined;
  /** The worlds of the server that creates this one; absent for the server's first world. */
  readonly hostedWorlds?: HostedWorlds | undefined;
  /** The part of all world ids that this server draws from; absent if it is the only server. */
  readonly share?: Share | undefined;
}
