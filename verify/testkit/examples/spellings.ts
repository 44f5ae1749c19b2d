/**
 * Examples of the assumptions about spellings: of numbers, times, paths and methods, and the field
 * names in a 400.
 */
import { brief } from '../scene.ts';
import { answers, type Examples, keysOf, unauthenticated } from './example.ts';
import {
  any,
  bodyOf,
  both,
  either,
  invalid,
  isReceived,
  isSend,
  names,
  namesRequestId,
  one,
} from './reach.ts';

export const spellings = {
  emptyBody: {
    scene: (scene) => keysOf(scene.send({}, { changes: { body: '' } }).body),
    shows: answers(['malformed', 'detail'], ['no_fields', 'code,detail']),
    reaches: (a, b) => isSend(a) && a.reply.status === 400 && b.reply.status === 400,
  },
  pathCase: {
    scene: (scene) => {
      const id = JSON.parse(scene.send().body).message_id;
      const paths = ['/API/v1/Account/Stats/', `/api/V1/sms/${id}/`, `/api/V1/sms/x${id}/`];
      return paths.map((path) => scene.get(path).status).join();
    },
    shows: answers(['exact', '404,404,404'], ['any', '200,200,404']),
    reaches: (a) => /[A-Z]/.test(a.request.path),
  },
  bearerSpace: {
    scene: (scene) =>
      [' ', '  ', '\t']
        .map((space) => {
          const authorization = `bearer${space}${scene.session.keysOf(0)[0]?.key}`;
          return scene.get('/api/v1/account/stats/', { changes: { authorization } }).status;
        })
        .join(),
    shows: answers(['any', '200,200,200'], ['one', '200,401,401']),
    reaches: (a) => /^bearer(?! \S)/i.test(a.request.authorization ?? ''),
  },
  headMethod: {
    scene: (scene) => {
      const call = (path: string) => scene.get(path, { changes: { method: 'HEAD' } });
      const { status, headers } = call('/api/v1/account/stats/');
      return `${status} ${headers?.['allow'] ?? ''}, ${call('/api/v1/sms/send/').status}`;
    },
    shows: answers(['as_get', '200 , 405'], ['refused', '405 GET, 405']),
    reaches: any((a) => a.request.method === 'HEAD', one(405)),
  },
  keyCheck: {
    scene: (scene) => {
      const changes = { ...unauthenticated, method: 'PUT' };
      const paths = ['/none/', '/api/v1/account/stats/'];
      return paths.map((path) => scene.get(path, { changes }).status).join();
    },
    shows: answers(['after_method', '404,405'], ['before_method', '404,401'], ['first', '401,401']),
    reaches: any(either(401, 404), either(401, 405), either(429, 405), either(429, 404)),
  },
  fieldOrder: {
    scene: (scene) => brief(scene.send({ to: 'x', message: 5, send_at: 'x' })),
    shows: answers(
      [['to', 'from', 'message', 'request_id', 'send_at', 'unknown'], '400 to'],
      [['send_at', 'message', 'to', 'from', 'request_id', 'unknown'], '400 send_at'],
    ),
    more: [['unknown', 'message', 'send_at', 'to', 'from', 'request_id']],
    judged: [
      ['to', 'from', 'message', 'request_id', 'send_at', 'unknown'],
      ['send_at', 'message', 'to', 'from', 'request_id', 'unknown'],
    ],
    reaches: one(400),
  },
  senderFieldName: {
    scene: (scene) => brief(scene.send({ from: undefined, from_number: 'x' })),
    shows: answers(['as_given', '400 from_number'], ['from', '400 from']),
    reaches: both(invalid, names('from_number')),
  },
  emptySendAt: {
    scene: (scene) => brief(scene.send({ send_at: '' })),
    shows: answers(['reject', '400 send_at'], ['absent', '202']),
    reaches: both(isSend, names('send_at')),
  },
  requestIdUnit: {
    scene: (scene) => {
      scene.play({ kind: 'assume', name: 'requestIdMaxLength', answer: 2 });
      return ['ab', 'é', 'éé', '👋', '👋👋']
        .map((request_id) => scene.send({ request_id }).status)
        .join();
    },
    shows: answers(
      ['code_points', '202,202,202,202,202'],
      ['utf16_units', '202,202,202,202,400'],
      ['bytes', '202,202,400,400,400'],
    ),
    reaches: namesRequestId,
  },
  blankMessage: {
    scene: (scene) =>
      ['', ' ', ' \n', '\u00a0\u3000', '\ufeff', '\u0085', '\u200b', '\u001f']
        .map((message) => scene.send({ message }).status)
        .join(),
    shows: answers(
      ['reject', '400,400,400,400,400,202,202,202'],
      ['accept', '202,202,202,202,202,202,202,202'],
      [['empty'], '400,202,202,202,202,202,202,202'],
      [['space', 'control'], '202,400,400,202,202,202,202,202'],
      [['no_break', 'unicode', 'next_line', 'zero_width'], '202,202,202,400,202,400,400,202'],
      [['separator'], '202,202,202,202,202,202,202,400'],
    ),
    judged: ['reject', 'accept', ['empty'], ['space', 'next_line', 'zero_width', 'separator']],
    reaches: (a, b) =>
      invalid(a, b) && /^[\s\p{Cc}\u200b-\u200d\u2060]*$/u.test(String(bodyOf(a)['message'])),
  },
  numberMinDigits: {
    scene: (scene) => {
      scene.play({ kind: 'assume', name: 'numberCheck', answer: 'shape' });
      return ['+29', '+2901', '+29012345'].map((to) => scene.send({ to }).status).join();
    },
    shows: answers([2, '202,202,202'], [4, '400,202,202'], [8, '400,400,202']),
    judged: [2, 7, 11],
    reaches: invalid,
  },
  queryForms: {
    scene: (scene) =>
      ['page=01', 'page=%31', 'page=0&page=1', 'page=1&page=0']
        .map((query) => scene.get('/api/v1/sms/received/', { changes: { query } }).status)
        .join(),
    shows: answers(
      ['lenient', '200,200,400,200'],
      ['strict', '400,400,400,200'],
      [['leading_zeros', 'last'], '200,400,200,400'],
      [['escaped'], '400,200,400,200'],
    ),
    reaches: isReceived,
  },
  receivedQuery: {
    scene: (scene) =>
      ['page=0', 'page_size=x', 'page=9']
        .map((query) => scene.get('/api/v1/sms/received/', { changes: { query } }).status)
        .join(),
    shows: answers(
      ['reject', '400,400,404'],
      ['not_found', '404,200,404'],
      ['ignore', '200,200,200'],
    ),
    reaches: isReceived,
  },
} as const satisfies Examples;
