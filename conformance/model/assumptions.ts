/**
 * The answers that the reference model can give where the document is silent, transcribed from
 * `rules.md`. The type is written a second time so that the model shares no code with the
 * simulator.
 */
export interface Assumptions {
  readonly limiterRefill: 'sliding' | 'continuous' | 'interval' | 'interval_aligned';
  readonly refusedSpendsToken: 'no' | 'yes';
  readonly errorsSpendToken: 'yes' | 'no';
  readonly failedRequestId: 'free' | 'burned';
  readonly gateOrder: 'replay_first' | 'validate_first' | 'quota_before_sender';
  readonly bothSenderFields: 'from_wins' | 'alias_wins' | 'reject' | 'reject_if_different';
  readonly replayScope: 'account' | 'api_key';
  readonly replayDifferentBody: 'return_original' | 'conflict';
  readonly replayAcrossEndpoints: 'shared' | 'separate';
  readonly replaySpends: 'throttle' | 'nothing';
  readonly errorBody: 'code_detail' | 'field_map' | 'nested';
  readonly notFoundBody: 'detail_only' | 'code_detail';
  readonly malformedJson: 'detail_400' | 'code_400';
  readonly emptyBody: 'malformed' | 'no_fields';
  readonly contentType: 'reject_415' | 'ignore';
  readonly trailingSlash: 'not_found' | 'redirect' | 'served';
  readonly pathCase: 'exact' | 'any';
  readonly bearerSpace: 'any' | 'one';
  readonly methodNotAllowed: '405' | '404';
  readonly headMethod: 'as_get' | 'refused';
  readonly keyCheck: 'after_method' | 'before_method' | 'first';
  readonly unknownFields: 'ignore' | 'reject';
  readonly nullFields: 'reject' | 'absent' | readonly string[];
  readonly typeCoercion: 'reject' | 'coerce' | 'numbers';
  readonly validationScope: 'first' | 'all';
  readonly fieldOrder: readonly string[];
  readonly senderFieldName: 'as_given' | 'from';
  readonly sendAtFormats: 'rfc3339' | 'iso8601' | readonly string[];
  readonly emptySendAt: 'reject' | 'absent';
  readonly pathIdForm: 'canonical' | 'any' | 'any_case';
  readonly emptyRequestId: 'none_supplied' | 'reject';
  readonly requestIdMaxLength: number;
  readonly requestIdUnit: 'code_points' | 'utf16_units' | 'bytes';
  readonly characterUnit: 'code_points' | 'utf16_units' | 'graphemes';
  readonly blankMessage: 'reject' | 'accept' | readonly string[];
  readonly numberCheck: 'possible' | 'shape' | 'valid';
  readonly numberMinDigits: number;
  readonly sendAtZone: 'utc_only' | 'any_offset' | 'naive_is_utc' | 'any';
  readonly sendAtMaxAheadDays: number | 'unlimited';
  readonly heldStatus: 'queued' | 'scheduled';
  readonly progressPace: 'per_poll' | 'own_delay';
  readonly pollIntervalSeconds: number;
  readonly sendsPerPoll: number | 'all';
  readonly failsFrom: readonly ('queued' | 'sending' | 'sent')[];
  readonly failureRate: number;
  readonly deactivation: 'fails' | 'stays_queued';
  readonly disconnectedSim: 'queues' | 'device_inactive' | 'access_denied' | 'pool';
  readonly foreignNumber: 'access_denied' | 'not_found';
  readonly poolBesideOwnSim: 'access_denied' | 'allow' | 'not_found';
  readonly monthlyQuota: number | 'unlimited';
  readonly quotaUnit: 'messages' | 'segments';
  readonly quotaMonth: 'calendar_utc' | 'rolling_30_days';
  readonly quotaRefund: 'no' | 'yes';
  readonly messageRetention: number | 'forever';
  readonly keyFormat: string;
  readonly dashboardSendShape: 'same_as_v1';
  readonly externalSendShape: 'same_as_v1';
  readonly receivedShape: 'page' | 'array';
  readonly queryForms: 'lenient' | 'strict' | readonly string[];
  readonly receivedQuery: 'reject' | 'not_found' | 'ignore';
  readonly tasksShape: 'tasks' | 'array';
  readonly tasksAccess: 'owner';
  readonly statsShape: 'counts';
  readonly unauthenticatedThrottle: 'then_429' | 'always_401';
  readonly clientIp: 'peer' | 'x_forwarded_for';
  readonly replyTemplates: object;
}
