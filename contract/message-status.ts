/**
 * The statuses of a message (RES-5).
 */
export const statuses = ['queued', 'sending', 'sent', 'delivered', 'failed'] as const;
export type Status = (typeof statuses)[number];

/** The events that move a message to its next status; the message machine defines the steps. */
export const messageEvents = ['picked_up', 'progressed', 'failed'] as const;
export type MessageEvent = (typeof messageEvents)[number];
