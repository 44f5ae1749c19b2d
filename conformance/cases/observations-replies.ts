/**
 * Observations of single replies where the document is silent. Each row is about one assumption: a
 * generator (`probe`) finds the target's answer in the replies, or a table (`answers`) maps their
 * statuses to answers. `conformance/steps/probe.ts` makes cases of the rows.
 */
import { statusOfOtherBody } from '#contract/refusals.ts';
import { isObject } from '#contract/request-and-reply.ts';
import { dayMs } from '#contract/time.ts';
import * as single from '#judging/discovery/single-replies.ts';
import type { ProbeReply } from '#judging/evidence/reply.ts';
import { namesField } from '#judging/service/named-fields.ts';
import type { Seen } from '../run/case.ts';
import { paths, unknownId } from '../run/trial.ts';
import { type Asker, answerOf, observe, observeStatuses, type Probe } from '../steps/probe.ts';

export const replyObservations = [
  observe('bothSenderFields/two-numbers', 2, {
    sends: 'two senders, one unknown, then alike',
    *probe(ask) {
      const { unknownFrom, from } = ask.facts;
      const both = yield ask.send({ from_number: unknownFrom });
      const used = isObject(both.json) ? both.json['from_number'] : undefined;
      if (both.status === 403 || used === unknownFrom) return { answer: 'alias_wins' };
      if (both.status === 202) return { answer: 'from_wins' };
      const { status } = yield ask.send({ from_number: from });
      return answerOf(`${status}`, { 202: 'reject_if_different', 400: 'reject' });
    },
  }),
  observeStatuses('failedRequestId/after-a-403', 2, {
    sends: 'a request_id that was refused for its number, then with a good one',
    needs: ['sender', 'unknown-from'],
    requests: (ask) => {
      const request_id = ask.facts.requestId();
      return [ask.send({ request_id, from: ask.facts.unknownFrom }), ask.send({ request_id })];
    },
    answers: { '403 202': 'free', '403 403': 'burned' },
  }),
  observeStatuses('replayDifferentBody/other-text', 2, {
    sends: 'one request_id with another message',
    requests: (ask) => {
      const request_id = ask.facts.requestId();
      return [ask.send({ request_id }), ask.send({ request_id, message: 'another' })];
    },
    answers: Object.fromEntries(
      Object.entries(statusOfOtherBody).map(([answer, status]) => [`202 ${status}`, answer]),
    ),
  }),
  observe('replayAcrossEndpoints/dashboard-send', 2, {
    sends: 'one request_id at the v1 send and at the dashboard send',
    spends: { send: 2, dashboard_send: 1 },
    *probe(ask) {
      const request_id = ask.facts.requestId();
      const first = yield ask.send({ request_id });
      const second = yield ask.send({ request_id }, paths.dashboard_send);
      const [id, other] = [first, second].map(({ json }) => Object(json).message_id as unknown);
      const seen = `${first.status} ${second.status}`;
      if (seen === '202 202' && id === other)
        return { undetermined: 'none of these: 202, but with the message_id of the first' };
      return answerOf(seen, { '202 200': 'shared', '202 202': 'separate' });
    },
  }),
  observe('errorBody/of-a-400', 1, {
    sends: 'an invalid send_at',
    *probe(ask) {
      const reply = yield ask.send({ send_at: 'x' });
      return answered(single.errorBodyOf(reply, 'send_at'), reply);
    },
  }),
  observe('notFoundBody/of-an-unknown-id', 0, {
    sends: 'a read of an unknown id',
    *probe(ask) {
      const reply = yield ask.get(paths.read(unknownId));
      return answered(single.notFoundBodyOf(reply), reply);
    },
  }),
  observe('malformedJson/half-an-object', 1, {
    sends: 'a body that is not JSON',
    *probe(ask) {
      const reply = yield ask.post('{');
      return answered(single.malformedJsonOf(reply), reply);
    },
  }),
  observe('emptyBody/nothing', 1, {
    sends: 'a send without a body',
    *probe(ask) {
      const reply = yield ask.post('');
      if (reply.status !== 400) return otherShape(reply);
      const isRead = ['to', 'from', 'message'].some((field) => namesField(reply.json, field));
      return { answer: isRead ? 'no_fields' : 'malformed' };
    },
  }),
  observeStatuses('contentType/plain-text', 1, {
    sends: 'a valid message declared as plain text',
    requests: (ask) => [ask.post(ask.send().body ?? '', paths.send, 'text/plain')],
    answers: single.contentType,
  }),
  observeStatuses('trailingSlash/without-it', 0, {
    sends: 'a request for the statistics without the last slash',
    requests: (ask) => [ask.get(paths.stats.replace(/\/$/, ''))],
    answers: single.trailingSlash,
  }),
  observeStatuses('pathCase/capitals', 0, {
    sends: 'a request for the statistics by a path with capitals',
    requests: (ask) => [ask.get('/API/v1/account/STATS/')],
    answers: { 404: 'exact', 200: 'any' },
  }),
  observeStatuses('bearerSpace/two-spaces', 0, {
    sends: 'a request with two spaces between Bearer and the key',
    requests: (ask) => [
      { ...ask.get(paths.stats), headers: { authorization: `Bearer  ${ask.facts.key}` } },
    ],
    answers: { 200: 'any', 401: 'one' },
  }),
  observeStatuses('bearerCase/small-letters', 0, {
    sends: 'a request whose header says bearer',
    requests: (ask) => [
      { ...ask.get(paths.stats), headers: { authorization: `bearer ${ask.facts.key}` } },
    ],
    answers: { 200: 'any', 401: 'exact' },
  }),
  observeStatuses('methodNotAllowed/delete-stats', 0, {
    sends: 'DELETE on the statistics',
    requests: (ask) => [ask.get(paths.stats, 'DELETE')],
    answers: single.methodNotAllowed,
  }),
  observeStatuses('headMethod/of-the-statistics', 0, {
    sends: 'HEAD of the statistics',
    requests: (ask) => [ask.get(paths.stats, 'HEAD')],
    answers: single.headMethod,
  }),
  observeStatuses('keyCheck/without-a-key', 0, {
    sends: 'requests without a key: of an unknown path, and with a wrong method',
    requests: () => [
      { method: 'GET', path: '/api/v1/conformance/none/' },
      { method: 'DELETE', path: paths.stats },
    ],
    answers: {
      '401 401': 'first',
      '404 401': 'before_method',
      '404 404': 'after_method',
      '404 405': 'after_method',
    },
  }),
  observeStatuses('unknownFields/a-colour', 1, {
    sends: 'a message with a field that the document does not name',
    requests: (ask) => [ask.send({ colour: 'blue' })],
    answers: { 202: 'ignore', 400: 'reject' },
  }),
  observeStatuses('nullFields/request-id-and-send-at', 2, {
    sends: 'messages whose request_id or send_at is null',
    requests: (ask) => [ask.send({ request_id: null }), ask.send({ send_at: null })],
    answers: { '400 400': 'reject', '202 202': 'absent' },
  }),
  observeStatuses('typeCoercion/a-number-for-a-text', 2, {
    sends: 'messages that are a number and a boolean',
    requests: (ask) => [ask.send({ message: 42 }), ask.send({ message: true })],
    answers: { '400 400': 'reject', '202 202': 'coerce', '202 400': 'numbers' },
  }),
  observe('validationScope/two-mistakes', 1, {
    sends: 'a message whose request_id and send_at are invalid',
    *probe(ask) {
      const reply = yield ask.send({ request_id: {}, send_at: 'soon' });
      const named = ['request_id', 'send_at'].filter((field) => reply.text.includes(field)).length;
      if (reply.status !== 400 || named === 0) return otherShape(reply);
      return { answer: named === 2 ? 'all' : 'first' };
    },
  }),
  observeStatuses('sendAtFormats/beyond-rfc-3339', 4, {
    sends: 'a send_at as usual, in the basic format, on an ordinal date, and with a decimal comma',
    requests: (ask) => {
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
    answers: { '202 400 400 400': 'rfc3339', '202 202 202 202': 'iso8601' },
  }),
  observeStatuses('emptySendAt/empty-text', 1, {
    sends: 'a message whose send_at is empty',
    requests: (ask) => [ask.send({ send_at: '' })],
    answers: { 202: 'absent', 400: 'reject' },
  }),
  observe('pathIdForm/other-spellings', 1, {
    sends: 'reads of a message by other spellings',
    *probe(ask) {
      const accepted = yield ask.send();
      const id = isObject(accepted.json) ? String(accepted.json['message_id']) : '';
      const capitals = yield ask.get(paths.read(id.toUpperCase()));
      const bare = yield ask.get(paths.read(id.replaceAll('-', '')));
      return answerOf(`${capitals.status} ${bare.status}`, {
        '200 200': 'any',
        '200 404': 'any_case',
        '404 404': 'canonical',
      });
    },
  }),
  observeStatuses('emptyRequestId/empty-text', 2, {
    sends: 'two messages whose request_id is empty',
    requests: (ask) => [ask.send({ request_id: '' }), ask.send({ request_id: '' })],
    answers: { '202 202': 'none_supplied', '400 400': 'reject' },
  }),
  observeStatuses('characterUnit/pairs-and-marks', 2, {
    sends: '801 letters of two UTF-16 units, then 801 letters with a combining mark',
    requests: (ask) => [
      ask.send({ message: '😀'.repeat(801) }),
      ask.send({ message: 'e\u0301'.repeat(801) }),
    ],
    answers: { '400 400': 'utf16_units', '202 202': 'graphemes', '202 400': 'code_points' },
  }),
  observeStatuses('blankMessage/empty-and-white-space', 2, {
    sends: 'a message without a character, and one of white space',
    requests: (ask) => [ask.send({ message: '' }), ask.send({ message: ' \t\n' })],
    answers: { '400 400': 'reject', '400 202': 'reject_empty', '202 202': 'accept' },
  }),
  observeStatuses('numberCheck/odd-numbers', 2, {
    sends: 'recipients with an unknown country code, and with a number that no carrier has',
    requests: (ask) => [ask.send({ to: '+999123456789' }), ask.send({ to: '+11115550123' })],
    answers: { '202 202': 'shape', '400 202': 'possible', '400 400': 'valid' },
  }),
  observeStatuses('sendAtZone/offset-and-naive', 2, {
    sends: 'a send_at with another offset, and one without any',
    requests: (ask) => [
      ask.send({ send_at: `${ask.ahead}+02:00` }),
      ask.send({ send_at: ask.ahead }),
    ],
    answers: {
      '202 202': 'any',
      '202 400': 'any_offset',
      '400 202': 'naive_is_utc',
      '400 400': 'utc_only',
    },
  }),
  observe('heldStatus/while-held', 1, {
    sends: 'a read of a held message',
    *probe(ask) {
      const held = yield ask.send({ send_at: `${ask.ahead}Z` });
      const id = isObject(held.json) ? String(held.json['message_id']) : '';
      const { json } = yield ask.get(paths.read(id));
      const status = isObject(json) ? json['status'] : undefined;
      return status === undefined ? { undetermined: 'no status' } : { answer: status };
    },
  }),
  observe('receivedShape/list', 0, {
    sends: 'a read of received messages',
    spends: { received: 1 },
    probe: listed(() => paths.received, 'count,next,previous,results', 'page'),
  }),
  observeStatuses('receivedQuery/page-0', 0, {
    sends: 'a read of page 0 of the received messages',
    spends: { received: 1 },
    requests: (ask) => [ask.get(`${paths.received}?page=0`)],
    answers: { 400: 'reject', 404: 'not_found', 200: 'ignore' },
  }),
  observe('tasksShape/list', 0, {
    sends: "a request for a device's tasks",
    needs: ['key', 'device'],
    spends: { tasks: 1 },
    probe: listed((ask) => paths.tasks(ask.facts.deviceId), 'tasks', 'tasks'),
  }),
];

/** Observes the shape of a list: an array, or an object with these fields. */
function listed(path: (ask: Asker) => string, names: string, objectAnswer: string): Probe {
  return function* (ask) {
    const reply = yield ask.get(path(ask));
    return answered(single.listShapeOf(reply, names, objectAnswer), reply);
  };
}

/** The answer that the reply was found to show; undetermined if none was found. */
function answered(answer: string | undefined, reply: ProbeReply): Seen {
  return answer === undefined ? otherShape(reply) : { answer };
}

function otherShape({ status, text }: ProbeReply): Seen {
  return { undetermined: `another reply: ${status} ${text.slice(0, 200)}` };
}
