/**
 * What the control API answers, as far as the page reads it. A test holds these equal to the levers' own types,
 * which the page cannot import: they would bring the whole simulator, and Node's types, into a browser's program.
 */
export type Status = 'queued' | 'sending' | 'sent' | 'delivered' | 'failed';
export const statuses = ['queued', 'sending', 'sent', 'delivered', 'failed'] as const;
export type UnfinishedStatus = 'queued' | 'sending' | 'sent';

export const endpoints = [
  'send',
  'dashboard_send',
  'external_send',
  'received',
  'tasks',
  'read',
  'stats',
] as const;
export type Endpoint = (typeof endpoints)[number];

export interface ClockState {
  readonly now: string;
  readonly mode: 'real' | 'manual' | 'scaled';
  readonly rate: number;
  readonly pending: number;
  readonly next_at: string | null;
}

export interface State {
  readonly base_url: string;
  readonly clock: ClockState;
  readonly seed: number;
  readonly accounts: number;
  readonly sims: number;
  readonly messages: { readonly total: number } & Readonly<Record<Status, number>>;
  readonly actors: { readonly running: number; readonly awake: number };
  readonly timers: number;
  readonly requests: number;
  readonly faults: number;
  readonly memory: { readonly rss_bytes: number; readonly heap_used_bytes: number };
}

export interface Account {
  readonly account_id: string;
  readonly name: string;
  readonly monthly_quota: number | 'unlimited' | null;
  readonly quota_used: number;
  readonly messages: Readonly<Record<Status, number>>;
}

export interface Key {
  readonly key_id: string;
  readonly name: string;
  readonly prefix: string;
  readonly created_at: string;
  readonly revoked_at: string | null;
}

export interface CreatedKey {
  readonly key_id: string;
  readonly name: string;
  readonly key: string;
  readonly created_at: string;
}

export interface Sim {
  readonly device_id: string;
  readonly number: string;
  readonly account_id: string | null;
  readonly connected: boolean;
  readonly active: boolean;
  readonly polling: 'simulated' | 'external';
  readonly allowed: boolean;
  readonly queue_length: number;
}

export interface Message {
  readonly status: string;
  readonly message_id: string;
  readonly request_id: string;
  readonly device_id: string;
  readonly from_number: string;
  readonly to: string;
  readonly created_at: string;
  readonly account_id: string;
  readonly endpoint: Endpoint;
  readonly message: string;
  readonly segments: number;
  readonly encoding: 'GSM-7' | 'UCS-2';
  readonly send_at: string | null;
  readonly history: readonly { readonly status: Status; readonly at: string }[];
  readonly failure_reason: string | null;
}

export interface MessagePage {
  readonly messages: readonly Message[];
  readonly next_cursor: string | null;
}

export interface MessageEvent {
  readonly message_id: string;
  readonly account_id: string;
  readonly device_id: string;
  readonly from_number: string;
  readonly to: string;
  readonly status: Status;
  readonly from_status: Status | null;
  readonly failure_reason: string | null;
  readonly at: string;
}

export interface Received {
  readonly message_id: string;
  readonly device_id: string;
  readonly from_number: string;
  readonly to: string;
  readonly message: string;
  readonly received_at: string;
}

/** A body is null where it was too long to be kept. */
export interface Exchange {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
  };
  readonly reply: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
  };
  readonly fault: {
    readonly delay_ms: number | null;
    readonly cut: 'close' | 'truncate' | null;
  } | null;
}

export interface ServiceRequest {
  readonly number: number;
  readonly at: string;
  readonly method: string;
  readonly endpoint: Endpoint | null;
  readonly account_id: string | null;
  readonly key_id: string | null;
  readonly status: number;
  readonly code: string | null;
  readonly duration_ms: number;
}

/** Requests of 100 ms, counted; `last_number` is the number of the last of them. */
export interface Traffic {
  readonly at: string;
  readonly last_number: number;
  readonly counts: readonly {
    readonly endpoint: Endpoint | null;
    readonly status: number;
    readonly count: number;
  }[];
}

export interface Bucket {
  readonly account_id: string;
  readonly endpoint: Endpoint;
  readonly limit: number;
  readonly available: number;
}

export type Limits = Readonly<Record<Endpoint, number | null>>;

export interface Fault {
  readonly fault_id: string;
  readonly seen: number;
  readonly hits: number;
  readonly times?: number | undefined;
  readonly match: {
    readonly endpoint?: Endpoint | undefined;
    readonly account_id?: string | undefined;
    readonly to?: string | undefined;
  };
  readonly when:
    | { readonly nth: readonly number[] }
    | { readonly every: number }
    | { readonly probability: number };
  readonly fault: {
    readonly kind: string;
    readonly ms?: number | undefined;
    readonly status?: number | undefined;
    readonly headers?: Readonly<Record<string, string>> | undefined;
  };
}

export interface Outcome {
  readonly to: string;
  readonly ends: 'delivered' | 'failed' | 'stuck';
  readonly in?: UnfinishedStatus | undefined;
  readonly polls?: number | undefined;
}

export type AssumptionValue = string | number | readonly string[];

export interface LedgerEntry {
  readonly name: string;
  readonly open: string;
  readonly default: AssumptionValue;
  readonly answers: readonly string[];
  readonly permitted: string;
}
