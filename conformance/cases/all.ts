/** Every case, in the order of the document: rules first, then what is observed. */
import { type AnyCase, subjectOf } from '../case.ts';
import { assumptions, rules } from '../rules.ts';
import { authenticationCases } from './authentication.ts';
import { holdingCases } from './holding.ts';
import { moreBodyCases } from './more-bodies.ts';
import { moreHoldingCases } from './more-holds.ts';
import { moreKeyedCases } from './more-keyed.ts';
import { moreRefusalCases } from './more-refusals.ts';
import { moreReplayCases } from './more-replays.ts';
import { httpObservations } from './observations-http.ts';
import { sendObservations } from './observations-send.ts';
import { timeObservations } from './observations-time.ts';
import { quotaCases } from './quota.ts';
import { rateLimitCases } from './rate-limits.ts';
import { readCases } from './read.ts';
import { replayCases } from './replay.ts';
import { sendCases } from './send.ts';
import { senderCases } from './senders.ts';
import { stateCases } from './states.ts';
import { throttledCases } from './throttled.ts';
import { validationCases } from './validation.ts';
import { versioningCases } from './versioning.ts';

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
