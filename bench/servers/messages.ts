/**
 * The messages between the bench and a child process: orders to it, and reports from it.
 */
import type { SettingsInput } from '#src/simulator.ts';
import type { RequestTemplate, Target } from '../load/workload.ts';

/** The server to start: the floor (`floor.ts`), or a simulator. */
export type ServerSpec =
  | { readonly kind: 'hyperexpress' }
  | {
      readonly kind: 'simulator';
      readonly settings: SettingsInput;
      /** The number of messages that it holds before the load. */
      readonly preload: number;
      /** True if it opens a control port. */
      readonly control: boolean;
    };

/** Answered with a report at the end of each interval, until the process ends. */
export interface ProbeOrder {
  readonly kind: 'probe';
  readonly target: Target;
  readonly request: RequestTemplate;
  readonly perSecond: number;
  readonly intervalMs: number;
}

/** Latencies in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface ProbeReport {
  readonly kind: 'probed';
  /** The latencies of the last interval. */
  readonly interval: Percentiles;
  /** The latencies of the whole run so far, as the counts below. */
  readonly run: Percentiles;
  readonly requests: number;
  readonly failed: number;
  readonly late: number;
}

export type Order =
  | ProbeOrder
  | { readonly kind: 'start'; readonly spec: ServerSpec }
  | { readonly kind: 'usage' };

export type Report =
  | ProbeReport
  | {
      readonly kind: 'started';
      readonly port: number;
      /** Empty without a control port. */
      readonly controlUrl: string;
      /** How long the start took. */
      readonly startedMs: number;
      readonly apiKey: string;
      readonly from: string;
      readonly messageIds: readonly string[];
    }
  | { readonly kind: 'usage'; readonly cpuMicros: number; readonly rssBytes: number }
  | { readonly kind: 'failed'; readonly why: string };
