/**
 * Every case, in the order of the document: first the cases that judge rules, then the
 * observations.
 */
import { type AnyCase, subjectOf } from '../case.ts';
import { assumptions, rules } from '../rules.ts';
import { auth1KeysCases } from './auth-1-keys.ts';
import { auth3InexactKeysCases } from './auth-3-inexact-keys.ts';
import { auth3RefusedKeysCases } from './auth-3-refused-keys.ts';
import { auth4SenderNumbersCases } from './auth-4-sender-numbers.ts';
import { auth6KeyedByCases } from './auth-6-keyed-by.ts';
import { err1QuotaCases } from './err-1-quota.ts';
import { err2InactiveSimCases } from './err-2-inactive-sim.ts';
import { err3RetryAfterCases } from './err-3-retry-after.ts';
import { err4DetailCases } from './err-4-detail.ts';
import { limit1ManyWindowsCases } from './limit-1-many-windows.ts';
import { limit1PerMinuteCases } from './limit-1-per-minute.ts';
import { limit7PerEndpointCases } from './limit-7-per-endpoint.ts';
import { formObservations } from './observations-forms.ts';
import { httpObservations } from './observations-http.ts';
import { sendObservations } from './observations-send.ts';
import { templateObservations } from './observations-templates.ts';
import { timeObservations } from './observations-time.ts';
import { read1OwnMessageCases } from './read-1-own-message.ts';
import { read2InexactIdsCases } from './read-2-inexact-ids.ts';
import { read2UnknownIdsCases } from './read-2-unknown-ids.ts';
import { read3NotLimitedCases } from './read-3-not-limited.ts';
import { res1MessageBodyCases } from './res-1-message-body.ts';
import { res3EchoesCases } from './res-3-echoes.ts';
import { send2RequiredFieldsCases } from './send-2-required-fields.ts';
import { send3AcceptedCases } from './send-3-accepted.ts';
import { send4InexactIdsCases } from './send-4-inexact-ids.ts';
import { send4ReplayCases } from './send-4-replay.ts';
import { send4RequestIdsCases } from './send-4-request-ids.ts';
import { send4WindowCases } from './send-4-window.ts';
import { send5InvalidFieldsCases } from './send-5-invalid-fields.ts';
import { send6LengthCases } from './send-6-length.ts';
import { send6UnchangedTextCases } from './send-6-unchanged-text.ts';
import { send7EarlyReleaseCases } from './send-7-early-release.ts';
import { send7HoldCases } from './send-7-hold.ts';
import { send7SendAtCases } from './send-7-send-at.ts';
import { send7ZonesCases } from './send-7-zones.ts';
import { state2LifeCases } from './state-2-life.ts';
import { state3NeverBackwardsCases } from './state-3-never-backwards.ts';
import { svc1SimsAndPoolCases } from './svc-1-sims-and-pool.ts';
import { svc3PickupCases } from './svc-3-pickup.ts';
import { svc4JsonCases } from './svc-4-json.ts';
import { ver1PathsCases } from './ver-1-paths.ts';

const order: readonly string[] = [
  ...rules.map(({ id }) => id),
  ...assumptions.map(({ name }) => name),
];

export const allCases: readonly AnyCase[] = [
  ...auth1KeysCases,
  ...auth3InexactKeysCases,
  ...auth3RefusedKeysCases,
  ...auth4SenderNumbersCases,
  ...auth6KeyedByCases,
  ...err1QuotaCases,
  ...err2InactiveSimCases,
  ...err3RetryAfterCases,
  ...err4DetailCases,
  ...limit1ManyWindowsCases,
  ...limit1PerMinuteCases,
  ...limit7PerEndpointCases,
  ...read1OwnMessageCases,
  ...read2InexactIdsCases,
  ...read2UnknownIdsCases,
  ...read3NotLimitedCases,
  ...res1MessageBodyCases,
  ...res3EchoesCases,
  ...send2RequiredFieldsCases,
  ...send3AcceptedCases,
  ...send4InexactIdsCases,
  ...send4ReplayCases,
  ...send4RequestIdsCases,
  ...send4WindowCases,
  ...send5InvalidFieldsCases,
  ...send6LengthCases,
  ...send6UnchangedTextCases,
  ...send7HoldCases,
  ...send7EarlyReleaseCases,
  ...send7SendAtCases,
  ...send7ZonesCases,
  ...state2LifeCases,
  ...state3NeverBackwardsCases,
  ...svc1SimsAndPoolCases,
  ...svc3PickupCases,
  ...svc4JsonCases,
  ...ver1PathsCases,
  ...sendObservations,
  ...formObservations,
  ...httpObservations,
  ...timeObservations,
  ...templateObservations,
].toSorted((a: AnyCase, b: AnyCase) => order.indexOf(subjectOf(a)) - order.indexOf(subjectOf(b)));
