/**
 * The messages between a bench and the server in its child process.
 */
import type { SettingsInput } from '../../src/simulator.ts';

/** `raw`: uWebSockets.js alone; `hyperexpress`: a bare handler, as its users write one. */
export type ServerSpec =
  | { readonly kind: 'simulator'; readonly settings: SettingsInput; readonly preload: number }
  | { readonly kind: 'raw' | 'hyperexpress'; readonly reply: FloorReply };

/** The floor's answer to every request. */
export interface FloorReply {
  readonly postStatus: number;
  readonly body: Readonly<Record<string, unknown>>;
}

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
  | {
      readonly kind: 'usage';
      readonly cpuMicros: number;
      readonly rssBytes: number;
      readonly heapBytes: number;
    }
  | { readonly kind: 'failed'; readonly why: string };
