/**
 * The messages between the bench and a child process: orders to it, and reports from it.
 */
import type { SettingsInput } from '#src/simulator.ts';

/** The server to start: the floor (`floor.ts`), or a simulator. */
export type ServerSpec =
  | { readonly kind: 'hyperexpress' }
  | {
      readonly kind: 'simulator';
      readonly settings: SettingsInput;
      /** The number of messages that it holds before the load. */
      readonly preload: number;
    };

export type Order =
  | { readonly kind: 'start'; readonly spec: ServerSpec }
  | { readonly kind: 'usage' };

export type Report =
  | {
      readonly kind: 'started';
      readonly port: number;
      readonly startedMs: number;
      readonly apiKey: string;
      readonly from: string;
      readonly messageIds: readonly string[];
    }
  | { readonly kind: 'usage'; readonly cpuMicros: number; readonly rssBytes: number }
  | { readonly kind: 'failed'; readonly why: string };
