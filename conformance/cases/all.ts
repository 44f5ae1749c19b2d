/** Every case, in the order of the document: rules first, then what is observed. */
import { type AnyCase, subjectOf } from '../case.ts';
import { assumptions, rules } from '../rules.ts';
import { authenticationCases } from './auth-3-refused-keys.ts';
import { senderCases } from './auth-4-sender-numbers.ts';
import { moreKeyedCases } from './auth-6-keyed-by.ts';
import { quotaCases } from './err-1-quota.ts';
import { throttledCases } from './err-3-retry-after.ts';
import { rateLimitCases } from './limit-1-per-minute.ts';
import { moreRefusalCases } from './limit-1-refusals.ts';
import { httpObservations } from './observations-http.ts';
import { sendObservations } from './observations-send.ts';
import { timeObservations } from './observations-time.ts';
import { readCases } from './read-1-own-message.ts';
import { sendCases } from './res-1-message-body.ts';
import { validationCases } from './send-2-required-fields.ts';
import { replayCases } from './send-4-replay.ts';
import { moreReplayCases } from './send-4-request-ids.ts';
import { moreHoldingCases } from './send-7-hold.ts';
import { holdingCases } from './send-7-send-at.ts';
import { stateCases } from './state-2-life.ts';
import { moreBodyCases } from './svc-4-json.ts';
import { versioningCases } from './ver-1-paths.ts';

const order: readonly string[] = [
  ...rules.map(({ id }) => id),
  ...assumptions.map(({ name }) => name),
];

export const allCases: readonly AnyCase[] = [
  ...sendCases,
  ...validationCases,
  ...holdingCases,
  ...replayCases,
  ...readCases,
  ...stateCases,
  ...authenticationCases,
  ...senderCases,
  ...quotaCases,
  ...rateLimitCases,
  ...throttledCases,
  ...versioningCases,
  ...moreReplayCases,
  ...moreHoldingCases,
  ...moreBodyCases,
  ...moreRefusalCases,
  ...moreKeyedCases,
  ...sendObservations,
  ...httpObservations,
  ...timeObservations,
].toSorted((a: AnyCase, b: AnyCase) => order.indexOf(subjectOf(a)) - order.indexOf(subjectOf(b)));
