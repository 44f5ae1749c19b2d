/**
 * One example for each answer of each assumption: a scene and its result under that answer.
 * The scene is the same for all answers of an assumption, so the results show the difference.
 */
import type { AssumptionName } from '../../src/sim/assumptions.ts';
import { brief, numbers, type Scene } from './scene.ts';

export interface Example {
  readonly scene: (scene: Scene) => string;
  /** Start time, if it matters. */
  readonly startsAt?: string;
  /** Each answer with the result of the scene; the default first. */
  readonly shows: readonly (readonly [answer: unknown, shown: string])[];
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

function ahead(scene: Scene, byMs: number, zone = 'Z'): string {
  return new Date(scene.session.model.nowMs + byMs).toISOString().replace('Z', zone);
}

function limit(scene: Scene, endpoint: 'send' | 'received' | 'tasks', perMinute: number): void {
  scene.play({ kind: 'limit', endpoint, limit: perMinute });
}

/** Sends until a refusal; returns how many passed and the wait that the refusal states. */
function exhaust(scene: Scene): { passed: number; waitSeconds: number } {
  for (let passed = 0; ; passed += 1) {
    const reply = scene.send();
    if (reply.status === 429)
      return { passed, waitSeconds: Number(reply.headers?.['retry-after']) };
  }
}

function keysOf(body: string): string {
  const parsed: unknown = JSON.parse(body);
  return Array.isArray(parsed) ? 'an array' : Object.keys(Object(parsed)).join();
}

const unauthenticated = { authorization: undefined };

export const assumptionExamples: Readonly<Record<AssumptionName, Example>> = {
  limiterRefill: {
    startsAt: '2026-01-15T10:00:30.000Z',
    scene: (scene) => {
      limit(scene, 'send', 6);
      scene.send();
      scene.advance(10_000);
      const { passed, waitSeconds } = exhaust(scene);
      scene.advance(waitSeconds * 1000);
      return `${passed} more, after ${waitSeconds} s another ${exhaust(scene).passed}`;
    },
    shows: [
      ['sliding', '5 more, after 50 s another 1'],
      ['continuous', '6 more, after 10 s another 1'],
      ['interval', '5 more, after 50 s another 6'],
      ['interval_aligned', '5 more, after 20 s another 6'],
    ],
  },
  refusedSpendsToken: {
    scene: (scene) => {
      limit(scene, 'send', 1);
      scene.send();
      scene.advance(30_000);
      return `wait ${exhaust(scene).waitSeconds} s`;
    },
    shows: [
      ['no', 'wait 30 s'],
      ['yes', 'wait 60 s'],
    ],
  },
  errorsSpendToken: {
    scene: (scene) => {
      limit(scene, 'send', 1);
      return `${brief(scene.send({ to: 'x' }))}, ${brief(scene.send())}`;
    },
    shows: [
      ['yes', '400 to, 429'],
      ['no', '400 to, 202'],
    ],
  },
  failedRequestId: {
    scene: (scene) => {
      scene.send({ request_id: 'a', from: numbers.bert });
      return brief(scene.send({ request_id: 'a' }));
    },
    shows: [
      ['free', '202'],
      ['burned', '403 from_number_access_deniedd'],
    ],
  },
  gateOrder: {
    scene: (scene) => {
      const body = { request_id: 'a', send_at: ahead(scene, 1000) };
      scene.send(body);
      scene.advance(1000);
      const again = brief(scene.send(body));
      scene.play({ kind: 'quota', who: 0, quota: 0 });
      return `${again}, ${brief(scene.send({ from: numbers.bert }))}`;
    },
    shows: [
      ['replay_first', '200, 403 from_number_access_deniedd'],
      ['validate_first', '400 send_at, 403 from_number_access_deniedd'],
      ['quota_before_sender', '200, 402 quota_exceeded'],
    ],
  },
  bothSenderFields: {
    scene: (scene) => {
      const sender = (alias: string) => {
        const reply = scene.send({ from_number: alias });
        return reply.status === 202 ? JSON.parse(reply.body).from_number : brief(reply);
      };
      return `${sender(numbers.adaExternal)}, ${sender(numbers.ada)}`;
    },
    shows: [
      ['from_wins', `${numbers.ada}, ${numbers.ada}`],
      ['alias_wins', `${numbers.adaExternal}, ${numbers.ada}`],
      ['reject', '400 from_number, 400 from_number'],
      ['reject_if_different', `400 from_number, ${numbers.ada}`],
    ],
  },
  replayScope: {
    scene: (scene) => {
      scene.play({ kind: 'create_key', who: 0 });
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a' }, { key: 1 }));
    },
    shows: [
      ['account', '200'],
      ['api_key', '202'],
    ],
  },
  replayDifferentBody: {
    scene: (scene) => {
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a', message: 'something else' }));
    },
    shows: [
      ['return_original', '200'],
      ['conflict', '409 request_id_conflict'],
    ],
  },
  replayAcrossEndpoints: {
    scene: (scene) => {
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a' }, { via: 'external_send' }));
    },
    shows: [
      ['shared', '200'],
      ['separate', '202'],
    ],
  },
  replaySpends: {
    scene: (scene) => {
      limit(scene, 'send', 1);
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a' }));
    },
    shows: [
      ['throttle', '429'],
      ['nothing', '200'],
    ],
  },
  errorBody: {
    scene: (scene) =>
      scene.send({ to: undefined, message: 1 }).body.replaceAll(/"[^"]*\.( [^"]*)?"/g, '"…"'),
    shows: [
      ['code_detail', '{"code":"to","detail":"…"}'],
      ['field_map', '{"to":["…"]}'],
      ['nested', '{"error":{"code":"to","message":"…"}}'],
    ],
  },
  notFoundBody: {
    scene: (scene) => scene.get('/api/v1/sms/unknown/').body,
    shows: [
      ['detail_only', '{"detail":"Not found."}'],
      ['code_detail', '{"code":"not_found","detail":"Not found."}'],
    ],
  },
  malformedJson: {
    scene: (scene) => keysOf(scene.send({}, { changes: { body: '[]' } }).body),
    shows: [
      ['detail_400', 'detail'],
      ['code_400', 'code,detail'],
    ],
  },
  contentType: {
    scene: (scene) => String(scene.send({}, { changes: { contentType: 'text/plain' } }).status),
    shows: [
      ['reject_415', '415'],
      ['ignore', '202'],
    ],
  },
  trailingSlash: {
    scene: (scene) => {
      const { status, headers } = scene.get('/api/v1/account/stats');
      return `${status} ${headers?.['location'] ?? ''}`;
    },
    shows: [
      ['not_found', '404 '],
      ['redirect', '301 /api/v1/account/stats/'],
    ],
  },
  methodNotAllowed: {
    scene: (scene) => {
      const { status, headers } = scene.get('/api/v1/sms/send/');
      return `${status} ${headers?.['allow'] ?? ''}`;
    },
    shows: [
      ['405', '405 POST'],
      ['404', '404 '],
    ],
  },
  unknownFields: {
    scene: (scene) => brief(scene.send({ note: 'x' })),
    shows: [
      ['ignore', '202'],
      ['reject', '400 note'],
    ],
  },
  nullFields: {
    scene: (scene) => brief(scene.send({ request_id: null })),
    shows: [
      ['reject', '400 request_id'],
      ['absent', '202'],
    ],
  },
  typeCoercion: {
    scene: (scene) => {
      const reply = scene.send({ message: true, request_id: 42 });
      return `${brief(reply)} ${JSON.parse(reply.body).request_id ?? ''}`;
    },
    shows: [
      ['reject', '400 message '],
      ['coerce', '202 42'],
    ],
  },
  validationScope: {
    scene: (scene) => {
      const { code, errors = {} } = JSON.parse(scene.send({ to: 'x', message: 1 }).body);
      return `${code}: ${Object.keys(errors)}`;
    },
    shows: [
      ['first', 'to: '],
      ['all', 'to: to,message'],
    ],
  },
  sendAtFormats: {
    scene: (scene) =>
      ['2027-01-01T00:00:00Z', '20270101T000000Z', '2026-W53-5T00:00:00+00', '2026-365T24:00,0Z']
        .map((send_at) => scene.send({ send_at }).status)
        .join(),
    shows: [
      ['rfc3339', '202,400,400,400'],
      ['iso8601', '202,202,202,202'],
    ],
  },
  pathIdForm: {
    scene: (scene) => {
      const id: string = JSON.parse(scene.send().body).message_id;
      return [id, id.toUpperCase(), id.replaceAll('-', ''), id.replace('-', '')]
        .map((each) => scene.get(`/api/v1/sms/${each}/`).status)
        .join();
    },
    shows: [
      ['canonical', '200,404,404,404'],
      ['any', '200,200,200,404'],
    ],
  },
  emptyRequestId: {
    scene: (scene) => brief(scene.send({ request_id: '' })),
    shows: [
      ['none_supplied', '202'],
      ['reject', '400 request_id'],
    ],
  },
  requestIdMaxLength: {
    scene: (scene) =>
      [2, 3, 255, 256].map((n) => scene.send({ request_id: 'x'.repeat(n) }).status).join(),
    shows: [
      [255, '202,202,202,400'],
      [2, '202,400,400,400'],
    ],
  },
  characterUnit: {
    scene: (scene) =>
      ['x', '👋', 'e\u0301'].map((c) => scene.send({ message: c.repeat(1600) }).status).join(),
    shows: [
      ['code_points', '202,202,400'],
      ['utf16_units', '202,400,400'],
      ['graphemes', '202,202,202'],
    ],
  },
  blankMessage: {
    scene: (scene) => brief(scene.send({ message: ' \n' })),
    shows: [
      ['reject', '400 message'],
      ['accept', '202'],
    ],
  },
  numberCheck: {
    scene: (scene) =>
      ['+1202555015', '+15555555555', '+12025550150'].map((to) => scene.send({ to }).status).join(),
    shows: [
      ['possible', '400,202,202'],
      ['shape', '202,202,202'],
      ['valid', '400,400,202'],
    ],
  },
  sendAtZone: {
    scene: (scene) =>
      ['Z', '+00:00', '-01:00', '']
        .map((zone) => scene.send({ send_at: ahead(scene, minuteMs, zone) }).status)
        .join(),
    shows: [
      ['utc_only', '202,202,400,400'],
      ['any_offset', '202,202,202,400'],
      ['naive_is_utc', '202,202,400,202'],
      ['any', '202,202,202,202'],
    ],
  },
  sendAtMaxAheadDays: {
    scene: (scene) =>
      [dayMs, dayMs + 1].map((ms) => scene.send({ send_at: ahead(scene, ms) }).status).join(),
    shows: [
      ['unlimited', '202,202'],
      [1, '202,400'],
    ],
  },
  heldStatus: {
    scene: (scene) => scene.statusOf(scene.send({ send_at: ahead(scene, minuteMs) })),
    shows: [
      ['queued', 'queued'],
      ['scheduled', 'scheduled'],
    ],
  },
  progressPace: {
    scene: (scene) => {
      const accepted = scene.send();
      scene.play({ kind: 'poll_now', who: 0, sim: 0 });
      scene.advance(19_999);
      return scene.statusOf(accepted) === 'sending' ? 'waits for a poll' : 'has moved on';
    },
    shows: [
      ['per_poll', 'waits for a poll'],
      ['own_delay', 'has moved on'],
    ],
  },
  pollIntervalSeconds: {
    scene: (scene) => {
      const accepted = scene.send();
      scene.advance(20_000);
      return scene.statusOf(accepted);
    },
    shows: [
      [20, 'sending'],
      [3600, 'queued'],
    ],
  },
  sendsPerPoll: {
    scene: (scene) => {
      const accepted = [scene.send(), scene.send()];
      scene.play({ kind: 'poll_now', who: 0, sim: 0 });
      return accepted.map((each) => scene.statusOf(each)).join();
    },
    shows: [
      ['all', 'sending,sending'],
      [1, 'sending,queued'],
    ],
  },
  failsFrom: {
    scene: (scene) => {
      const accepted = scene.send({ to: '+12025550161' });
      scene.advance(minuteMs);
      return scene.statusOf(accepted);
    },
    shows: [
      [['queued', 'sending', 'sent'], 'failed'],
      [['queued', 'sent'], 'delivered'],
    ],
  },
  failureRate: {
    scene: (scene) => {
      const accepted = scene.send();
      scene.advance(minuteMs);
      return scene.statusOf(accepted);
    },
    shows: [
      [0, 'delivered'],
      [1, 'failed'],
    ],
  },
  deactivation: {
    scene: (scene) => {
      const accepted = scene.send();
      scene.play({ kind: 'patch_sim', who: 0, sim: 0, changes: { active: false } });
      return scene.statusOf(accepted);
    },
    shows: [
      ['fails', 'failed'],
      ['stays_queued', 'queued'],
    ],
  },
  disconnectedSim: {
    scene: (scene) => {
      for (const sim of [0, 1]) {
        scene.play({ kind: 'patch_sim', who: 0, sim, changes: { connected: false } });
      }
      const reply = scene.send();
      return `${brief(reply)} ${JSON.parse(reply.body).from_number ?? ''}`.trim();
    },
    shows: [
      ['queues', `202 ${numbers.ada}`],
      ['device_inactive', '503 device_inactive'],
      ['access_denied', '403 from_number_access_deniedd'],
      ['pool', `202 ${numbers.pool}`],
    ],
  },
  foreignNumber: {
    scene: (scene) => brief(scene.send({ from: numbers.bert })),
    shows: [
      ['access_denied', '403 from_number_access_deniedd'],
      ['not_found', '403 from_number_not_found'],
    ],
  },
  poolBesideOwnSim: {
    scene: (scene) => brief(scene.send({ from: numbers.pool })),
    shows: [
      ['access_denied', '403 from_number_access_deniedd'],
      ['allow', '202'],
    ],
  },
  monthlyQuota: {
    scene: (scene) => `${brief(scene.send())}, of ${scene.stats().quota.limit}`,
    shows: [
      [10_000, '202, of 10000'],
      [0, '402 quota_exceeded, of 0'],
      ['unlimited', '202, of null'],
    ],
  },
  quotaUnit: {
    scene: (scene) => {
      scene.send({ message: 'x'.repeat(161) });
      return `${scene.stats().quota.used} used`;
    },
    shows: [
      ['messages', '1 used'],
      ['segments', '2 used'],
    ],
  },
  quotaMonth: {
    startsAt: '2026-01-31T23:59:59.999Z',
    scene: (scene) => {
      scene.send();
      scene.advance(1);
      return `${scene.stats().quota.used} used`;
    },
    shows: [
      ['calendar_utc', '0 used'],
      ['rolling_30_days', '1 used'],
    ],
  },
  quotaRefund: {
    scene: (scene) => {
      scene.send({ to: '+12025550160' });
      scene.advance(20_000);
      return `${scene.stats().quota.used} used`;
    },
    shows: [
      ['no', '1 used'],
      ['yes', '0 used'],
    ],
  },
  keyFormat: {
    scene: (scene) => scene.session.keysOf(0)[0]?.slice(0, -40) ?? '',
    shows: [
      ['smst_', 'smst_'],
      ['key-', 'key-'],
    ],
  },
  dashboardSendShape: {
    scene: (scene) => keysOf(scene.send({}, { via: 'dashboard_send' }).body),
    shows: [['same_as_v1', 'status,message_id,request_id,device_id,from_number,to,created_at']],
  },
  externalSendShape: {
    scene: (scene) => keysOf(scene.send({}, { via: 'external_send' }).body),
    shows: [['same_as_v1', 'status,message_id,request_id,device_id,from_number,to,created_at']],
  },
  receivedShape: {
    scene: (scene) => {
      scene.play({ kind: 'inject', who: 0, sim: 0, text: 'hi' });
      return keysOf(scene.get('/api/v1/sms/received/').body);
    },
    shows: [
      ['page', 'count,next,previous,results'],
      ['array', 'an array'],
    ],
  },
  tasksShape: {
    scene: (scene) => {
      scene.send({ from: numbers.adaExternal });
      return keysOf(scene.get(`/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`).body);
    },
    shows: [
      ['tasks', 'tasks'],
      ['array', 'an array'],
    ],
  },
  tasksAccess: {
    scene: (scene) => {
      const path = `/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`;
      return `${scene.get(path).status}, to others ${scene.get(path, { who: 1 }).status}`;
    },
    shows: [['owner', '200, to others 404']],
  },
  statsShape: {
    scene: (scene) => keysOf(scene.get('/api/v1/account/stats/').body),
    shows: [['counts', 'messages,quota,sims_connected,received']],
  },
  unauthenticatedThrottle: {
    scene: (scene) => {
      limit(scene, 'received', 1);
      const call = () => scene.get('/api/v1/sms/received/', { changes: unauthenticated }).status;
      return `${call()}, ${call()}`;
    },
    shows: [
      ['then_429', '401, 429'],
      ['always_401', '401, 401'],
    ],
  },
  clientIp: {
    scene: (scene) => {
      limit(scene, 'tasks', 1);
      const call = (forwardedFor: string) => {
        const changes = { ...unauthenticated, forwardedFor };
        return scene.get('/api/devices/x/tasks/', { changes }).status;
      };
      return `${call('198.51.100.1')}, ${call('198.51.100.2')}`;
    },
    shows: [
      ['peer', '401, 429'],
      ['x_forwarded_for', '401, 401'],
    ],
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
  },
};
