/** Examples of the assumptions about senders, keys, ids, `send_at` and reply templates. */
import { dayMs } from '#contract/time.ts';
import { brief, numbers } from '../twin/scene.ts';
import { ahead, answers, type Examples } from './example.ts';

/** Templates for most kinds of reply; the other kinds use the template of a more general kind. */
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

export const senders = {
  gateOrder: {
    scene: (scene) => {
      const body = { request_id: 'a', send_at: ahead(scene, 1000) };
      scene.send(body);
      scene.advance(1000);
      const again = brief(scene.send(body));
      scene.play({ kind: 'quota', who: 0, quota: 0 });
      return `${again}, ${brief(scene.send({ from: numbers.bert }))}`;
    },
    shows: answers(
      ['replay_first', '200, 403 from_number_access_deniedd'],
      ['validate_first', '400 send_at, 403 from_number_access_deniedd'],
      ['quota_before_sender', '200, 402 quota_exceeded'],
    ),
  },
  replayScope: {
    scene: (scene) => {
      scene.play({ kind: 'create_key', who: 0 });
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a' }, { key: 1 }));
    },
    shows: answers(['account', '200'], ['api_key', '202']),
  },
  requestIdMaxLength: {
    scene: (scene) =>
      [2, 3, 255, 256].map((n) => scene.send({ request_id: 'x'.repeat(n) }).status).join(),
    shows: answers([255, '202,202,202,400'], [2, '202,400,400,400']),
    more: [256],
    judged: [255, 64, 65_536],
  },
  sendAtMaxAheadDays: {
    scene: (scene) =>
      [dayMs, dayMs + 1, 366 * dayMs]
        .map((ms) => scene.send({ send_at: ahead(scene, ms) }).status)
        .join(),
    shows: answers(['unlimited', '202,202,202'], [1, '202,400,400']),
    more: [30, 365],
  },
  foreignNumber: {
    scene: (scene) => brief(scene.send({ from: numbers.bert })),
    shows: answers(
      ['access_denied', '403 from_number_access_deniedd'],
      ['not_found', '403 from_number_not_found'],
    ),
  },
  poolBesideOwnSim: {
    scene: (scene) => brief(scene.send({ from: numbers.pool })),
    shows: answers(['access_denied', '403 from_number_access_deniedd'], ['allow', '202']),
  },
  disconnectedSim: {
    scene: (scene) => {
      for (const sim of [0, 1])
        scene.play({ kind: 'patch_sim', who: 0, sim, changes: { connected: false } });
      const reply = scene.send();
      return `${brief(reply)} ${JSON.parse(reply.body).from_number ?? ''}`.trim();
    },
    shows: answers(
      ['queues', `202 ${numbers.ada}`],
      ['device_inactive', '503 device_inactive'],
      ['access_denied', '403 from_number_access_deniedd'],
      ['pool', `202 ${numbers.pool}`],
    ),
  },
  keyFormat: {
    scene: (scene) => scene.callers.keysOf(0)[0]?.key.slice(0, -40) ?? '',
    shows: answers(['smst_', 'smst_'], ['key-', 'key-']),
    more: ['', 'key~'],
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
  },
} satisfies Examples;
