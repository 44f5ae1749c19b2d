/**
 * The statuses of a message (RES-5).
 */
export const statuses = ['queued', 'sending', 'sent', 'delivered', 'failed'] as const;
export type Status = (typeof statuses)[number];
