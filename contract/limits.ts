/**
 * The endpoints, and every number of the document's "Limits" part.
 * Rules: LIMIT-1 to LIMIT-6, SEND-4, SEND-6.
 */
import type { RuleId } from './rules.ts';
import { dayMs, minuteMs } from './time.ts';

export const endpointNames = [
  'send',
  'dashboard_send',
  'external_send',
  'received',
  'tasks',
  'read',
  'stats',
] as const;

/** The endpoint names that users write in limits and faults, and read in log lines. */
export type EndpointName = (typeof endpointNames)[number];

/** The endpoints that accept a message. */
export const sendEndpoints = ['send', 'dashboard_send', 'external_send'] as const;
export type SendEndpoint = (typeof sendEndpoints)[number];

/** Requests per minute for one user or client IP; null: not rate-limited. */
export type LimitsPerMinute = Readonly<Record<EndpointName, number | null>>;

/** The limits of the endpoints that have one. */
export const documentedLimits = {
  send: 120,
  dashboard_send: 120,
  external_send: 120,
  received: 120,
  tasks: 60,
} as const satisfies Partial<LimitsPerMinute>;

export type LimitedEndpoint = keyof typeof documentedLimits;
export const limitedEndpoints = Object.keys(documentedLimits) as readonly LimitedEndpoint[];

export function isLimited(endpoint: EndpointName): endpoint is LimitedEndpoint {
  return endpoint in documentedLimits;
}

/** The rule that states each limit. */
export const ruleOfLimit = {
  send: 'LIMIT-1',
  dashboard_send: 'LIMIT-2',
  external_send: 'LIMIT-3',
  received: 'LIMIT-4',
  tasks: 'LIMIT-5',
} as const satisfies Record<LimitedEndpoint, RuleId>;

export const documentedLimitsPerMinute: LimitsPerMinute = {
  ...documentedLimits,
  read: null,
  stats: null,
};

export const limitWindowMs = minuteMs;

/** How long a `request_id` is remembered; at exactly this age it is still known. */
export const replayWindowMs = dayMs;

/** Characters of `message`; the assumption `characterUnit` defines a character. */
export const messageMaxCharacters = 1_600;

/** The simulator keeps this many of its last requests, with their replies. */
export const keptRequests = 1_000;
