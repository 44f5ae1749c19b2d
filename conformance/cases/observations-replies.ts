/**
 * Observations of single replies where the document is silent. Each row belongs to one assumption:
 * an id, the number of sends, what is sent, and how the replies show the target's answer. The last
 * part is a function, or a table from statuses to answers. `probe.ts` makes cases of the rows.
 */
import { dayMs } from '../../src/ledger/time-units.ts';
import type { Seen } from '../case.ts';
import {
  type Asker,
  answerOf,
  observe,
  observeStatuses,
  type Probe,
  type ProbeReply,
} from '../probe.ts';
import * as single from '../single-replies.ts';
import { paths } from '../trial.ts';
import * as verify from '../verify.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';

export const replyObservations = [
  observe(
    'bothSenderFields/two-numbers',
    2,
    'two senders, one unknown, then alike',
    function* (ask) {
      const { unknownFrom, from } = ask.facts;
      const both = yield ask.send({ from_number: unknownFrom });
      const used = verify.isObject(both.json) ? both.json['from_number'] : undefined;
      if (both.status === 403 || used === unknownFrom) return { answer: 'alias_wins' };
      if (both.status === 202) return { answer: 'from_wins' };
      const { status } = yield ask.send({ from_number: from });
      return answerOf(`${status}`, { 202: 'reject_if_different', 400: 'reject' });
    },
  ),
  observeStatuses(
    'failedRequestId/after-a-403',
    2,
    'a request_id that was refused for its number, then with a good one',
    (ask) => {
      const request_id = ask.facts.requestId();
      return [ask.send({ request_id, from: ask.facts.unknownFrom }), ask.send({ request_id })];
    },
    { '403 202': 'free', '403 403': 'burned' },
    { needs: ['sender', 'unknown-from'] },
  ),
  observeStatuses(
    'replayDifferentBody/other-text',
    2,
    'one request_id with another message',
    (ask) => {
      const request_id = ask.facts.requestId();
      return [ask.send({ request_id }), ask.send({ request_id, message: 'another' })];
    },
    { '202 200': 'return_original', '202 409': 'conflict' },
  ),
  observeStatuses(
    'replayAcrossEndpoints/dashboard-send',
    2,
    'one request_id at the v1 send and at the dashboard send',
    (ask) => {
      const request_id = ask.facts.requestId();
      return [ask.send({ request_id }), ask.send({ request_id }, paths.dashboard_send)];
    },
    { '202 200': 'shared', '202 202': 'separate' },
    { spends: { send: 2, dashboard_send: 1 } },
  ),
  observe('errorBody/of-a-400', 1, 'an invalid send_at', function* (ask) {
    const reply = yield ask.send({ send_at: 'x' });
    return answered(single.errorBodyOf(reply, 'send_at'), reply);
  }),
  observe('notFoundBody/of-an-unknown-id', 0, 'a read of an unknown id', function* (ask) {
    const reply = yield ask.get(paths.read(unknownId));
    return answered(single.notFoundBodyOf(reply), reply);
  }),
  observe('malformedJson/half-an-object', 1, 'a body that is not JSON', function* (ask) {
    const reply = yield ask.post('{');
    return answered(single.malformedJsonOf(reply), reply);
  }),
  observe('emptyBody/nothing', 1, 'a send without a body', function* (ask) {
    const reply = yield ask.post('');
    if (reply.status !== 400) return otherShape(reply);
    const named = verify.fieldsNamed(reply);
    const isRead = ['to', 'from', 'message'].some((field) => named.includes(field));
    return { answer: isRead ? 'no_fields' : 'malformed' };
  }),
  observeStatuses(
    'contentType/plain-text',
    1,
    'a valid message declared as plain text',
    (ask) => [ask.post(ask.send().body ?? '', paths.send, 'text/plain')],
    single.contentType,
  ),
  observeStatuses(
    'trailingSlash/without-it',
    0,
    'a request for the statistics without the last slash',
    (ask) => [ask.get(paths.stats.replace(/\/$/, ''))],
    single.trailingSlash,
  ),
  observeStatuses(
    'pathCase/capitals',
    0,
    'a request for the statistics by a path with capitals',
    (ask) => [ask.get('/API/v1/account/STATS/')],
    { 404: 'exact', 200: 'any' },
  ),
  observeStatuses(
    'bearerSpace/two-spaces',
    0,
    'a request with two spaces between Bearer and the key',
    (ask) => [{ ...ask.get(paths.stats), headers: { authorization: `Bearer  ${ask.facts.key}` } }],
    { 200: 'any', 401: 'one' },
  ),
  observeStatuses(
    'methodNotAllowed/delete-stats',
    0,
    'DELETE on the statistics',
    (ask) => [ask.get(paths.stats, 'DELETE')],
    single.methodNotAllowed,
  ),
  observeStatuses(
    'headMethod/of-the-statistics',
    0,
    'HEAD of the statistics',
    (ask) => [ask.get(paths.stats, 'HEAD')],
    single.headMethod,
  ),
  observeStatuses(
    'keyCheck/without-a-key',
    0,
    'requests without a key: of an unknown path, and with a wrong method',
    () => [
      { method: 'GET', path: '/api/v1/conformance/none/' },
      { method: 'DELETE', path: paths.stats },
    ],
    {
      '401 401': 'first',
      '404 401': 'before_method',
      '404 404': 'after_method',
      '404 405': 'after_method',
    },
  ),
  observeStatuses(
    'unknownFields/a-colour',
    1,
    'a message with a field that the document does not name',
    (ask) => [ask.send({ colour: 'blue' })],
    { 202: 'ignore', 400: 'reject' },
  ),
  observeStatuses(
    'nullFields/request-id-and-send-at',
    2,
    'messages whose request_id or send_at is null',
    (ask) => [ask.send({ request_id: null }), ask.send({ send_at: null })],
    { '400 400': 'reject', '202 202': 'absent' },
  ),
  observeStatuses(
    'typeCoercion/a-number-for-a-text',
    2,
    'messages that are a number and a boolean',
    (ask) => [ask.send({ message: 42 }), ask.send({ message: true })],
    { '400 400': 'reject', '202 202': 'coerce', '202 400': 'numbers' },
  ),
  observe(
    'validationScope/two-mistakes',
    1,
    'a message whose request_id and send_at are invalid',
    function* (ask) {
      const reply = yield ask.send({ request_id: {}, send_at: 'soon' });
      const named = ['request_id', 'send_at'].filter((field) => reply.text.includes(field)).length;
      if (reply.status !== 400 || named === 0) return otherShape(reply);
      return { answer: named === 2 ? 'all' : 'first' };
    },
  ),
  observeStatuses(
    'sendAtFormats/beyond-rfc-3339',
    4,
    'a send_at as usual, in the basic format, on an ordinal date, and with a decimal comma',
    (ask) => {
      const { ahead } = ask;
      const newYear = Date.UTC(Number(ahead.slice(0, 4)), 0, 1);
      const ordinal = 1 + (Date.parse(ahead.slice(0, 10)) - newYear) / dayMs;
      const written = [
        `${ahead}Z`,
        `${ahead.replaceAll(/[-:]/g, '')}Z`,
        `${ahead.slice(0, 5)}${String(ordinal).padStart(3, '0')}${ahead.slice(10)}Z`,
        `${ahead},5Z`,
      ];
      return written.map((send_at) => ask.send({ send_at }));
    },
    { '202 400 400 400': 'rfc3339', '202 202 202 202': 'iso8601' },
  ),
  observeStatuses(
    'emptySendAt/empty-text',
    1,
    'a message whose send_at is empty',
    (ask) => [ask.send({ send_at: '' })],
    { 202: 'absent', 400: 'reject' },
  ),
  observe(
    'pathIdForm/other-spellings',
    1,
    'reads of a message by other spellings',
    function* (ask) {
      const accepted = yield ask.send();
      const id = verify.isObject(accepted.json) ? String(accepted.json['message_id']) : '';
      const capitals = yield ask.get(paths.read(id.toUpperCase()));
      const bare = yield ask.get(paths.read(id.replaceAll('-', '')));
      return answerOf(`${capitals.status} ${bare.status}`, {
        '200 200': 'any',
        '200 404': 'any_case',
        '404 404': 'canonical',
      });
    },
  ),
  observeStatuses(
    'emptyRequestId/empty-text',
    2,
    'two messages whose request_id is empty',
    (ask) => [ask.send({ request_id: '' }), ask.send({ request_id: '' })],
    { '202 202': 'none_supplied', '400 400': 'reject' },
  ),
  observeStatuses(
    'characterUnit/pairs-and-marks',
    2,
    '801 letters of two UTF-16 units, then 801 letters with a combining mark',
    (ask) => [
      ask.send({ message: '😀'.repeat(801) }),
      ask.send({ message: 'e\u0301'.repeat(801) }),
    ],
    { '400 400': 'utf16_units', '202 202': 'graphemes', '202 400': 'code_points' },
  ),
  observeStatuses(
    'blankMessage/empty-and-white-space',
    2,
    'a message without a character, and one of white space',
    (ask) => [ask.send({ message: '' }), ask.send({ message: ' \t\n' })],
    { '400 400': 'reject', '202 202': 'accept' },
  ),
  observeStatuses(
    'numberCheck/odd-numbers',
    2,
    'recipients with an unknown country code, and with a number that no carrier has',
    (ask) => [ask.send({ to: '+999123456789' }), ask.send({ to: '+11115550123' })],
    { '202 202': 'shape', '400 202': 'possible', '400 400': 'valid' },
  ),
  observeStatuses(
    'sendAtZone/offset-and-naive',
    2,
    'a send_at with another offset, and one without any',
    (ask) => [ask.send({ send_at: `${ask.ahead}+02:00` }), ask.send({ send_at: ask.ahead })],
    {
      '202 202': 'any',
      '202 400': 'any_offset',
      '400 202': 'naive_is_utc',
      '400 400': 'utc_only',
    },
  ),
  observe('heldStatus/while-held', 1, 'a read of a held message', function* (ask) {
    const held = yield ask.send({ send_at: `${ask.ahead}Z` });
    const id = verify.isObject(held.json) ? String(held.json['message_id']) : '';
    const { json } = yield ask.get(paths.read(id));
    const status = verify.isObject(json) ? json['status'] : undefined;
    return status === undefined ? { undetermined: 'no status' } : { answer: status };
  }),
  observe(
    'receivedShape/list',
    0,
    'a read of received messages',
    listed(() => paths.received, 'count,next,previous,results', 'page'),
    { spends: { received: 1 } },
  ),
  observeStatuses(
    'receivedQuery/page-0',
    0,
    'a read of page 0 of the received messages',
    (ask) => [ask.get(`${paths.received}?page=0`)],
    { 400: 'reject', 404: 'not_found', 200: 'ignore' },
    { spends: { received: 1 } },
  ),
  observe(
    'tasksShape/list',
    0,
    "a request for a device's tasks",
    listed((ask) => paths.tasks(ask.facts.deviceId), 'tasks', 'tasks'),
    { needs: ['key', 'device'], spends: { tasks: 1 } },
  ),
];

/** Observes the shape of a list: an array, or an object with these fields. */
function listed(path: (ask: Asker) => string, names: string, objectAnswer: string): Probe {
  return function* (ask) {
    const reply = yield ask.get(path(ask));
    return answered(single.listShapeOf(reply, names, objectAnswer), reply);
  };
}

function answered(answer: string | undefined, reply: ProbeReply): Seen {
  return answer === undefined ? otherShape(reply) : { answer };
}

function otherShape({ status, text }: ProbeReply): Seen {
  return { undetermined: `another reply: ${status} ${text.slice(0, 200)}` };
}
