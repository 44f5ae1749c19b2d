/**
 * The statuses of a message (RES-5).
 */
export const statuses = ['queued', 'sending', 'sent', 'delivered', 'failed'] as const;
export type Status = (typeof statuses)[number];

/** True for a status that no other follows (STATE-5). */
export function isFinal(status: Status): status is 'delivered' | 'failed' {
  return status === 'delivered' || status === 'failed';
}

/** The events that move a message to its next status; the message machine defines the steps. */
export const messageEvents = ['picked_up', 'progressed', 'failed'] as const;
export type MessageEvent = (typeof messageEvents)[number];
