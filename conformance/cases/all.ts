/** All cases, in the order of the document: those that judge rules, then observations. */
import { assumptionNames } from '#contract/assumptions.ts';
import { rules } from '#contract/rules.ts';
import type { AnyCase } from '../run/case.ts';
import { authCases } from './auth.ts';
import { err1QuotaCases } from './err-1-quota.ts';
import { limitCases } from './limits.ts';
import { accountObservations } from './observations-accounts.ts';
import { limiterObservations } from './observations-limiter.ts';
import { replyObservations } from './observations-replies.ts';
import { templateObservations } from './observations-templates.ts';
import { timeObservations } from './observations-time.ts';
import { readCases } from './read.ts';
import { resCases } from './res.ts';
import { sendCases } from './send.ts';
import { send4Cases } from './send-4.ts';
import { send4IdCases } from './send-4-ids.ts';
import { send7Cases } from './send-7.ts';
import { refusalCases } from './send-refusals.ts';
import { senderCases } from './senders.ts';
import { stateCases } from './state.ts';

const order: readonly string[] = [...rules.map(({ id }) => id), ...assumptionNames];

export const allCases: readonly AnyCase[] = [
  ...authCases,
  ...senderCases,
  ...err1QuotaCases,
  ...limitCases,
  ...readCases,
  ...resCases,
  ...refusalCases,
  ...sendCases,
  ...send4Cases,
  ...send4IdCases,
  ...send7Cases,
  ...stateCases,
  ...replyObservations,
  ...accountObservations,
  ...limiterObservations,
  ...timeObservations,
  ...templateObservations,
].toSorted((a: AnyCase, b: AnyCase) => order.indexOf(a.subject) - order.indexOf(b.subject));
