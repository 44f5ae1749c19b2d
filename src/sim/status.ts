/**
 * The statuses of a message (RES-5).
 */
export const statuses = ['queued', 'sending', 'sent', 'delivered', 'failed'] as const;
export type Status = (typeof statuses)[number];

/** What moves a message from one status to the next; which step follows is the machine's business. */
export const messageEvents = ['picked_up', 'progressed', 'failed'] as const;
export type MessageEvent = (typeof messageEvents)[number];
