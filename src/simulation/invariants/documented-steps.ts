/**
 * The steps of a message, transcribed from the document a second time. Rules: STATE-1 to STATE-5.
 * `src/actors/message-machine.ts` is the first transcription. Neither imports the other, so that
 * one misreading cannot hide in both. The document does not say from which states a message may
 * fail; here, any state that is not final.
 */
import type { Status } from '../../sim/status.ts';

export const documentedSteps: Readonly<Record<Status, readonly Status[]>> = {
  queued: ['sending', 'failed'],
  sending: ['sent', 'failed'],
  sent: ['delivered', 'failed'],
  delivered: [],
  failed: [],
};
