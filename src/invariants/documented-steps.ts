/**
 * The steps of a message, transcribed from the document a second time. Rules: STATE-1 to STATE-5.
 * `src/actors/message-machine.ts` has the first transcription: one misreading must not hide in both, so neither imports
 * the other. The document states the ordinary steps, and leaves open from which states a message may fail: any that is
 * not final.
 */
import type { Status } from '../sim/status.ts';

export const documentedSteps: Readonly<Record<Status, readonly Status[]>> = {
  queued: ['sending', 'failed'],
  sending: ['sent', 'failed'],
  sent: ['delivered', 'failed'],
  delivered: [],
  failed: [],
};
