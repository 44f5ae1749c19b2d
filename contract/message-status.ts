/** The statuses of a message (RES-5), the events that change them, and outcomes in words. */
export const statuses = ['queued', 'sending', 'sent', 'delivered', 'failed'] as const;
export type Status = (typeof statuses)[number];

/** True for a status that no other follows (STATE-5). */
export function isFinal(status: Status): status is 'delivered' | 'failed' {
  return status === 'delivered' || status === 'failed';
}

/** The events that move a message to its next status; the message machine defines the steps. */
export const messageEvents = ['picked_up', 'progressed', 'failed'] as const;
export type MessageEvent = (typeof messageEvents)[number];

/** An outcome that is scripted for a recipient, as the control port shows it. */
interface ShownOutcome {
  readonly ends: 'delivered' | 'failed' | 'stuck' | 'refused';
  readonly in?: string;
  readonly polls?: number;
  readonly refuse?: string;
}

/** What happens to a message with this outcome, such as `fails while sending`. */
export function outcomeText(outcome: ShownOutcome): string {
  if (outcome.ends === 'refused') return `is refused: ${outcome.refuse}`;
  if (outcome.ends === 'failed') return `fails while ${outcome.in}`;
  if (outcome.ends === 'stuck') return `stays ${outcome.in}`;
  const { polls = 1 } = outcome;
  return polls === 1 ? 'is delivered' : `is delivered; each step takes ${polls} polls`;
}
