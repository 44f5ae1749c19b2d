/**
 * Examples of the assumptions about replies, paths and keys.
 */
import { numbers } from '../scene.ts';
import { answers, type Examples, keysOf } from './example.ts';
import { any, both, either, isRead, isReceived, isSend, isTasks, one } from './reach.ts';

/** A template for every reply but some, which fall back to others. */
const someTemplates = {
  error: { body: { title: '{detail}', code: '{code}', status: '{status}' } },
  invalid_field: {
    body: { first: '{field}', errors: { '{field}': ['{detail}'] }, list: [{ on: '{field}' }] },
  },
  invalid_key: { body: { code: '{code}' }, headers: { 'www-authenticate': null } },
  not_found: { body: { title: 'No {path}.', at: '{now}', id: '{uuid}' } },
  device_not_found: { body: 'no device' },
  throttled: { body: { detail: 'In {retry_after} s.', seconds: '{retry_after}' } },
  malformed_json: { status: 422, body: [{ msg: 'JSON: {detail}' }] },
  empty_body: { body: {} },
  method_not_allowed: { body: '{method}', headers: { allow: '{allow}, OPTIONS' } },
  redirect: { status: 308, body: null },
  stats: { body: { total: '{accepted}', left: '{quota_left}', by: ['{queued}', '{sent}'] } },
  received: { body: { data: '{items}', of: '{count}' }, item: { id: '{message_id}' } },
  tasks: { body: { work: '{items}' }, item: ['{to}', '{message}'] },
  external_send: { headers: { 'x-shape': 'external' } },
};

export const shapes = {
  errorBody: {
    scene: (scene) =>
      scene.send({ to: undefined, message: 1 }).body.replaceAll(/"[^"]*\.( [^"]*)?"/g, '"…"'),
    shows: answers(
      ['code_detail', '{"code":"to","detail":"…"}'],
      ['field_map', '{"to":["…"]}'],
      ['nested', '{"error":{"code":"to","message":"…"}}'],
    ),
    reaches: (a, b) =>
      a.reply.status === b.reply.status && a.reply.status >= 400 && a.reply.status !== 429,
  },
  notFoundBody: {
    scene: (scene) => scene.get('/api/v1/sms/unknown/').body,
    shows: answers(
      ['detail_only', '{"detail":"Not found."}'],
      ['code_detail', '{"code":"not_found","detail":"Not found."}'],
    ),
    reaches: (a, b) => a.reply.status === 404 && b.reply.status === 404,
  },
  malformedJson: {
    scene: (scene) => keysOf(scene.send({}, { changes: { body: '[]' } }).body),
    shows: answers(['detail_400', 'detail'], ['code_400', 'code,detail']),
    reaches: (a, b) => isSend(a) && a.reply.status === 400 && b.reply.status === 400,
  },
  contentType: {
    scene: (scene) => String(scene.send({}, { changes: { contentType: 'text/plain' } }).status),
    shows: answers(['reject_415', '415'], ['ignore', '202']),
    reaches: both(isSend, one(415)),
  },
  trailingSlash: {
    scene: (scene) => {
      const { status, headers } = scene.get('/api/v1/account/stats');
      return `${status} ${headers?.['location'] ?? ''}`;
    },
    shows: answers(
      ['not_found', '404 '],
      ['redirect', '301 /api/v1/account/stats/'],
      ['served', '200 '],
    ),
    reaches: (a) => !a.request.path.endsWith('/'),
  },
  methodNotAllowed: {
    scene: (scene) => {
      const { status, headers } = scene.get('/api/v1/sms/send/');
      return `${status} ${headers?.['allow'] ?? ''}`;
    },
    shows: answers(['405', '405 POST'], ['404', '404 ']),
    reaches: either(405, 404),
  },
  pathIdForm: {
    scene: (scene) => {
      const id: string = JSON.parse(scene.send().body).message_id;
      return [id, id.toUpperCase(), id.replaceAll('-', ''), id.replace('-', '')]
        .map((each) => scene.get(`/api/v1/sms/${each}/`).status)
        .join();
    },
    shows: answers(
      ['canonical', '200,404,404,404'],
      ['any', '200,200,200,404'],
      ['any_case', '200,200,404,404'],
    ),
    reaches: both(any(isRead, isTasks), one(404)),
  },
  keyFormat: {
    scene: (scene) => scene.session.keysOf(0)[0]?.key.slice(0, -40) ?? '',
    shows: answers(['smst_', 'smst_'], ['key-', 'key-']),
    more: ['', 'key~'],
    reaches: () => false,
  },
  dashboardSendShape: {
    scene: (scene) => keysOf(scene.send({}, { via: 'dashboard_send' }).body),
    shows: answers([
      'same_as_v1',
      'status,message_id,request_id,device_id,from_number,to,created_at',
    ]),
    reaches: () => false,
  },
  externalSendShape: {
    scene: (scene) => keysOf(scene.send({}, { via: 'external_send' }).body),
    shows: answers([
      'same_as_v1',
      'status,message_id,request_id,device_id,from_number,to,created_at',
    ]),
    reaches: () => false,
  },
  receivedShape: {
    scene: (scene) => {
      scene.play({ kind: 'inject', who: 0, sim: 0, text: 'hi' });
      return keysOf(scene.get('/api/v1/sms/received/').body);
    },
    shows: answers(['page', 'count,next,previous,results'], ['array', 'an array']),
    reaches: isReceived,
  },
  tasksShape: {
    scene: (scene) => {
      scene.send({ from: numbers.adaExternal });
      return keysOf(scene.get(`/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`).body);
    },
    shows: answers(['tasks', 'tasks'], ['array', 'an array']),
    reaches: isTasks,
  },
  tasksAccess: {
    scene: (scene) => {
      const path = `/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`;
      return `${scene.get(path).status}, to others ${scene.get(path, { who: 1 }).status}`;
    },
    shows: answers(['owner', '200, to others 404']),
    reaches: () => false,
  },
  statsShape: {
    scene: (scene) => keysOf(scene.get('/api/v1/account/stats/').body),
    shows: answers(['counts', 'messages,quota,sims_connected,received']),
    reaches: () => false,
  },
  replyTemplates: {
    scene: (scene) => {
      const { body } = scene.send({ to: 'x' });
      return `${body.replace(/Not [^"]*/, '…')} ${scene.get('/none/').body}`;
    },
    shows: [
      [{}, '{"code":"to","detail":"to: …"} {"detail":"Not found."}'],
      [
        {
          invalid_field: { body: { title: '{detail}', fields: [{ name: '{field}' }] } },
          path_not_found: { body: { error: 'no {path}' } },
        },
        '{"title":"…","fields":[{"name":"to"}]} {"error":"no /none/"}',
      ],
    ],
    more: [someTemplates],
    judged: [{}],
    reaches: () => true,
  },
} satisfies Examples;
