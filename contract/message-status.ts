/** The statuses of a message (RES-5), and the events that change them. */
export const statuses = ['queued', 'sending', 'sent', 'delivered', 'failed'] as const;
export type Status = (typeof statuses)[number];

/** The statuses from which a message may still fail (STATE-4). */
export const unfinishedStatuses = ['queued', 'sending', 'sent'] as const;
export type UnfinishedStatus = (typeof unfinishedStatuses)[number];

/** True for a status that no other follows (STATE-5): the two that are not unfinished. */
export function isFinal(status: Status): status is Exclude<Status, UnfinishedStatus> {
  return status === 'delivered' || status === 'failed';
}

/** The events that move a message to its next status; the message machine defines the steps. */
export const messageEvents = ['picked_up', 'progressed', 'failed'] as const;
export type MessageEvent = (typeof messageEvents)[number];
