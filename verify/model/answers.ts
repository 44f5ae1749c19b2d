/**
 * The assumptions of the reference model: its answers where the document is silent. The names and
 * permitted answers come from the simulator's declarations; the model implements them again.
 */
import type { AssumptionName, NamedAnswer } from '#contract/assumptions.ts';

/** Answers that the declarations do not name one by one. */
interface OtherAnswers {
  readonly failsFrom: readonly ('queued' | 'sending' | 'sent')[];
  readonly keyFormat: string;
  readonly replyTemplates: object;
}

export type Assumptions = {
  readonly [N in AssumptionName]: N extends keyof OtherAnswers ? OtherAnswers[N] : NamedAnswer<N>;
};
