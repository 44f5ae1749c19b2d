/** The texts of the service's OpenAPI document about its endpoints, and the rules of each. */
import type { EndpointName } from '#contract/limits.ts';

interface EndpointTexts {
  readonly operationId: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description: string;
  readonly rules: readonly string[];
  readonly success: Readonly<Record<number, string>>;
  /** Why the endpoint's own path may answer 404. */
  readonly notFound?: string;
}

/** The groups of endpoints. */
export const tags = {
  Messages: 'Queuing outbound messages and following them.',
  Received: 'Inbound messages of the account.',
  Devices: 'The work of a SIM that an external device polls for.',
  Account: 'Figures of the account.',
} as const;

const sendTexts = {
  tag: 'Messages',
  success: {
    200: 'A replay: the body is identical to the original 202 body, whatever its present status (SEND-4).',
    202: 'Queued, not yet sent (SEND-3).',
  },
} as const;

/** The document says nothing else about the two other send endpoints. */
const sameShape =
  'The document names this endpoint and its limit, not its shape: request and reply equal those ' +
  'of `sendMessage`.';

const sendRules = ['SVC-1', 'SVC-2', 'SEND-1', 'SEND-2', 'SEND-3', 'SEND-4', 'SEND-5'];

export const endpointTexts: Readonly<Record<EndpointName, EndpointTexts>> = {
  send: {
    ...sendTexts,
    operationId: 'sendMessage',
    summary: 'Queue one outbound message',
    description:
      'Answers when the message is queued, not when it is sent. Keep `message_id` and poll its ' +
      'status.',
    rules: [...sendRules, 'SEND-6', 'SEND-7', 'STATE-1', 'LIMIT-1'],
  },
  dashboard_send: {
    ...sendTexts,
    operationId: 'sendDashboardMessage',
    summary: 'Queue one outbound message, as the dashboard does',
    description: sameShape,
    rules: ['LIMIT-2', 'VER-1'],
  },
  external_send: {
    ...sendTexts,
    operationId: 'sendExternalMessage',
    summary: 'Queue one outbound message from an external system',
    description: sameShape,
    rules: ['LIMIT-3', 'VER-1'],
  },
  received: {
    operationId: 'listReceivedMessages',
    tag: 'Received',
    summary: 'List the inbound messages',
    description: 'Newest first. Polling every 15 to 30 seconds is recommended.',
    rules: ['LIMIT-4'],
    success: { 200: 'One page of the inbound messages.' },
    notFound: 'The page does not exist.',
  },
  tasks: {
    operationId: 'pollDeviceTasks',
    tag: 'Devices',
    summary: 'Take the queued work of one device',
    description:
      'Polled by devices. Handing out a task is its pickup, so no task is handed out twice. ' +
      'SIMs that the simulator polls itself get no tasks here.',
    rules: ['STATE-2', 'SVC-3', 'LIMIT-5', 'VER-1'],
    success: { 200: 'The tasks handed out by this poll.' },
    notFound: 'The account has no such device.',
  },
  read: {
    operationId: 'readMessage',
    tag: 'Messages',
    summary: 'Read one message and its current status',
    description: 'Not rate-limited; polling a message every 15 to 20 seconds is recommended.',
    rules: ['READ-1', 'READ-2', 'READ-3', 'LIMIT-6', 'STATE-3', 'STATE-4', 'STATE-5'],
    success: { 200: "The caller's own message (READ-1)." },
    notFound: 'The id is unknown or belongs to another account; both look the same (READ-2).',
  },
  stats: {
    operationId: 'readAccountStats',
    tag: 'Account',
    summary: 'Read the statistics of the account',
    description: 'Not rate-limited.',
    rules: ['LIMIT-6'],
    success: { 200: 'The present figures.' },
  },
};
