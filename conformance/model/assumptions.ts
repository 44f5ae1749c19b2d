/**
 * The answers that the reference model can give where the document is silent. Names and answers
 * come from the declarations; what they mean is written a second time in the model.
 */
import type { AssumptionName, NamedAnswer } from '../../src/ledger/assumptions.ts';

interface OtherAnswers {
  readonly failsFrom: readonly ('queued' | 'sending' | 'sent')[];
  readonly keyFormat: string;
  readonly replyTemplates: object;
}

export type Assumptions = {
  readonly [N in AssumptionName]: N extends keyof OtherAnswers ? OtherAnswers[N] : NamedAnswer<N>;
};
