/**
 * Writes the reply to each kind of refusal (`ServiceError`): its status, code and body. The
 * table `refusals` of the contract has the statuses and codes: they are repeated nowhere in `src/`.
 * Rules: SEND-5, READ-2, AUTH-3 to AUTH-5, ERR-1 to ERR-4. Assumes: errorBody, validationScope,
 * notFoundBody, malformedJson.
 */
import { refusals } from '#contract/refusals.ts';
import type { ApiReply } from '#contract/request-and-reply.ts';
import type { Assumptions } from '../../sim/assumptions.ts';
import type { FieldFailure, ServiceError } from '../../sim/errors.ts';

/** Status, code and text by kind. A kind of refusal without a row does not compile. */
export const errorReplies = refusals satisfies Record<ServiceError['kind'], unknown>;

/** The reply to a refusal, in the shape that the assumptions give it. */
export function errorReply(error: ServiceError, assumptions: Assumptions): ApiReply {
  switch (error.kind) {
    case 'throttled':
      return throttledReply(error.retryAfterSeconds);
    case 'not_found':
      return assumptions.notFoundBody === 'detail_only'
        ? notFoundDetail
        : plainReply('not_found', assumptions);
    case 'invalid_field':
      return invalidFieldReply(error.failures, assumptions);
    case 'malformed_json':
      return malformedJsonReply(error.detail, assumptions);
    case 'method_not_allowed':
      return { ...plainReply('method_not_allowed', assumptions), headers: { allow: error.allow } };
    case 'invalid_key':
      return { ...plainReply('invalid_key', assumptions), headers: authenticateHeader };
    default:
      return plainReply(error.kind, assumptions);
  }
}

const authenticateHeader = { 'www-authenticate': 'Bearer' };

const notFoundDetail: ApiReply = {
  status: errorReplies.not_found.status,
  body: JSON.stringify({ detail: errorReplies.not_found.detail }),
};

/** Replies by their wait in seconds. There are few: a wait is hardly longer than one window. */
const throttledReplies: ApiReply[] = [];

/** ERR-3, ERR-4: header and body state the same whole number of seconds. */
function throttledReply(seconds: number): ApiReply {
  const earlier = throttledReplies[seconds];
  if (earlier !== undefined) return earlier;
  const unit = seconds === 1 ? 'second' : 'seconds';
  const reply = {
    status: errorReplies.throttled.status,
    body: JSON.stringify({
      detail: `${errorReplies.throttled.detail} Expected available in ${seconds} ${unit}.`,
    }),
    headers: { 'retry-after': String(seconds) },
  };
  throttledReplies[seconds] = reply;
  return reply;
}

function malformedJsonReply(detail: string, assumptions: Assumptions): ApiReply {
  const { status, code } = errorReplies.malformed_json;
  const isCoded = assumptions.malformedJson !== 'detail_400';
  const body = isCoded ? codedBody(code, detail, assumptions) : JSON.stringify({ detail });
  return { status, body };
}

function invalidFieldReply(
  failures: Extract<ServiceError, { kind: 'invalid_field' }>['failures'],
  assumptions: Assumptions,
): ApiReply {
  const { status } = errorReplies.invalid_field;
  const { errorBody, validationScope } = assumptions;
  const [first] = failures;
  const named = validationScope === 'first' ? [first] : failures;
  const fields = fieldMap(named);
  if (errorBody === 'field_map') return { status, body: fields };
  const detail = named.map((failure) => `${failure.field}: ${failure.detail}`).join(' ');
  const body = codedBody(first.field, detail, assumptions);
  if (validationScope === 'first') return { status, body };
  // Adds the map of all failing fields as the last member of the body's object.
  const end = errorBody === 'nested' ? '}}' : '}';
  return { status, body: `${body.slice(0, -end.length)},"errors":${fields}${end}` };
}

/** The fields as `{"to":["..."]}`. Built as text, because an object loses a field `__proto__`. */
function fieldMap(failures: readonly FieldFailure[]): string {
  const members = failures.map(
    ({ field, detail }) => `${JSON.stringify(field)}:${JSON.stringify([detail])}`,
  );
  return `{${members.join(',')}}`;
}

type PlainKind = Exclude<ServiceError['kind'], 'invalid_field' | 'throttled'>;

/** The replies to refusals that carry only their kind, written once for each shape. */
const plainReplies = new Map<string, ApiReply>();

function plainReply(kind: PlainKind, assumptions: Assumptions): ApiReply {
  const shape = assumptions.errorBody === 'nested' ? 'nested' : 'flat';
  const name = `${kind}:${shape}`;
  let reply = plainReplies.get(name);
  if (reply === undefined) {
    const { status, code, detail } = errorReplies[kind];
    reply = { status, body: codedBody(code, detail, assumptions) };
    plainReplies.set(name, reply);
  }
  return reply;
}

/** The body of a refusal, in the shape of the assumption errorBody. */
export function codedBody(
  code: string,
  detail: string,
  { errorBody }: Pick<Assumptions, 'errorBody'>,
): string {
  return errorBody === 'nested'
    ? JSON.stringify({ error: { code, message: detail } })
    : JSON.stringify({ code, detail });
}
