/**
 * Records the inputs of one world in its journal, a file or in memory: each operation, and the end
 * of each reply that a fault delays. `ExchangeRecord` records the requests. A world has no journal
 * while a recorded run is replayed, or once it is closed.
 */
import type { Delivery } from '#contract/request-and-reply.ts';
import { isoTime } from '#contract/time.ts';
import { resultDigest } from '#judging/evidence/journal-entry.ts';
import type { Settings } from '../../config/settings.ts';
import { conflict, OperationRefused } from '../../sim/errors.ts';
import { defaultJournalMaxBytes } from '../checkpoint/checkpoints.ts';
import { openRun, type Run, type RunOptions } from '../checkpoint/resume.ts';
import type { ReplayTarget } from '../play.ts';
import type { RecordedExchange } from '../recorded-exchange.ts';
import { type Journal, MemoryJournal } from './journal.ts';
import type { RecordedRun } from './journal-lines.ts';

/**
 * The replies that a fault delays, until they are sent. One map for all worlds: the transport
 * reports to the world that listens, whichever world has answered.
 */
const delayedReplies = new WeakMap<Delivery, { recorder: WorldJournal; requestNumber: number }>();

export interface JournalOptions {
  /** The file; `false` for no journal, undefined for one in memory. */
  readonly journal?: string | false | undefined;
  /** The part of the journal's header that describes the world. */
  readonly hosted?: RunOptions['hosted'];
  /** Digests of keys whose texts a journal does not contain. */
  readonly keyDigests?: RunOptions['keyDigests'] | undefined;
  readonly journalMaxBytes?: number | undefined;
  readonly onNotice?: ((line: string) => void) | undefined;
}

export class WorldJournal {
  readonly #world: ReplayTarget;
  /** Undefined while no inputs are recorded. */
  journal: Journal | undefined;
  /** The file that was opened and is not yet replayed. */
  #opened: Run | undefined;
  #unlock: () => void = () => {};

  constructor(world: ReplayTarget) {
    this.#world = world;
  }

  /** Opens and locks the file. Returns when simulated time started, if it contains a run. */
  open(settings: Settings, options: JournalOptions): number | undefined {
    const { journal: path, hosted, keyDigests = new Map() } = options;
    if (typeof path !== 'string') return undefined;
    this.#opened = openRun(path, settings, { hosted, keyDigests });
    this.#unlock = this.#opened.abandon;
    return this.#opened.startedAtMs;
  }

  /** Begins to record. Returns true if there is a file, whose run it has replayed. */
  begin(startMs: number, options: JournalOptions): boolean {
    const { journal, journalMaxBytes = defaultJournalMaxBytes, onNotice } = options;
    const run = this.#opened;
    this.#opened = undefined;
    if (run !== undefined) this.journal = run.resume(this.#world, { journalMaxBytes, onNotice });
    else if (journal !== false) this.journal = new MemoryJournal(this.#world.settings, startMs);
    return run !== undefined;
  }

  /** Unlocks the file of a world that fails to start. */
  abandon(): void {
    this.#unlock();
  }

  /** Runs an operation that changes state and writes it to the journal, refusals included. */
  change<T>(
    operation: string,
    args: readonly unknown[],
    act: () => T,
    recorded: (result: T) => unknown = (result) => result,
  ): T {
    const { wallClock, exchangeRecord } = this.#world;
    exchangeRecord.settle();
    return wallClock.atOneMoment(() => {
      const atMs = this.#world.simulation.clock.now();
      try {
        const result = act();
        this.journal?.operation(atMs, operation, args, resultDigest(recorded(result)));
        return result;
      } catch (error) {
        // An invalid input is refused before it changes anything, so a replay can do without it.
        if (error instanceof OperationRefused && error.code !== 'invalid')
          this.journal?.operation(atMs, operation, args, error.code);
        throw error;
      }
    });
  }

  /** Notes whether a fault delays this reply, or holds it back. */
  noteDelayed({ delivery, number: requestNumber }: RecordedExchange): void {
    if (delivery?.delayMs === undefined && delivery?.cut !== 'hang') return;
    delayedReplies.set(delivery, { recorder: this, requestNumber });
  }

  /** The run so far. Refused if no journal is kept. */
  get run(): RecordedRun {
    return this.#required.run();
  }

  /** The run so far as NDJSON. Refused if no journal is kept. */
  get text(): string {
    return this.#required.text();
  }

  async close(): Promise<void> {
    this.#world.exchangeRecord.settle();
    const { journal } = this;
    this.journal = undefined;
    await journal?.close();
  }

  get #required(): Journal {
    this.#world.exchangeRecord.settle();
    if (this.journal !== undefined) return this.journal;
    throw conflict('no journal is kept');
  }

  /** Records that a delayed reply was sent or, if not seen, that its client has left. */
  recordEnd(requestNumber: number, isSeen: boolean): void {
    const { wallClock, exchangeRecord } = this.#world;
    exchangeRecord.settle();
    const nowMs = wallClock.now();
    const requestsAgo = exchangeRecord.total - requestNumber + 1;
    const at = isoTime(nowMs);
    this.journal?.ended({ at, ended: requestsAgo, ...(!isSeen && { seen: false }) });
    exchangeRecord.ended(requestsAgo, nowMs, isSeen);
  }
}

/** Records that a delayed reply of any world was sent or, if not seen, that its client has left. */
export function replyFinished(delivery: Delivery, isSeen: boolean): void {
  const delayed = delayedReplies.get(delivery);
  if (delayed === undefined) return;
  delayedReplies.delete(delivery);
  delayed.recorder.recordEnd(delayed.requestNumber, isSeen);
}
