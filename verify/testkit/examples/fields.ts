/**
 * Examples of the assumptions about the fields of a send and its sender.
 */
import { brief, numbers } from '../scene.ts';
import { ahead, answers, dayMs, type Examples, minuteMs } from './example.ts';
import { any, bodyOf, both, either, invalid, isSend, names, one } from './reach.ts';

export const fields = {
  bothSenderFields: {
    scene: (scene) => {
      const sender = (alias: string) => {
        const reply = scene.send({ from_number: alias });
        return reply.status === 202 ? JSON.parse(reply.body).from_number : brief(reply);
      };
      return `${sender(numbers.adaExternal)}, ${sender(numbers.ada)}`;
    },
    shows: answers(
      ['from_wins', `${numbers.ada}, ${numbers.ada}`],
      ['alias_wins', `${numbers.adaExternal}, ${numbers.ada}`],
      ['reject', '400 from_number, 400 from_number'],
      ['reject_if_different', `400 from_number, ${numbers.ada}`],
    ),
    reaches: both(names('from'), names('from_number')),
  },
  unknownFields: {
    scene: (scene) => brief(scene.send({ note: 'x' })),
    shows: answers(['ignore', '202'], ['reject', '400 note']),
    reaches: (a) =>
      isSend(a) &&
      Object.keys(bodyOf(a)).some(
        (name) => !/^(to|from|from_number|message|request_id|send_at)$/.test(name),
      ),
  },
  nullFields: {
    scene: (scene) =>
      [
        { request_id: null },
        { send_at: null },
        { from: null, from_number: numbers.ada },
        { from: undefined, from_number: null },
      ]
        .map((body) => brief(scene.send(body)))
        .join(),
    shows: answers(
      ['reject', '400 request_id,400 send_at,400 from,400 from_number'],
      ['absent', '202,202,202,400 from'],
      [['from', 'request_id'], '202,400 send_at,202,400 from_number'],
    ),
    more: [['from_number', 'send_at']],
    judged: ['reject', 'absent', ['request_id'], ['request_id', 'send_at']],
    reaches: (a) => isSend(a) && Object.values(bodyOf(a)).includes(null),
  },
  typeCoercion: {
    scene: (scene) => {
      const reply = scene.send({ message: 1.5, request_id: 42 });
      const { request_id = '' } = JSON.parse(reply.body);
      return `${brief(reply)} ${request_id}, ${brief(scene.send({ message: true }))}`;
    },
    shows: answers(
      ['reject', '400 message , 400 message'],
      ['coerce', '202 42, 202'],
      ['numbers', '202 42, 400 message'],
    ),
    reaches: (a) =>
      isSend(a) &&
      Object.values(bodyOf(a)).some((value) => ['number', 'boolean'].includes(typeof value)),
  },
  validationScope: {
    scene: (scene) => {
      const { code, errors = {} } = JSON.parse(scene.send({ to: 'x', message: 1 }).body);
      return `${code}: ${Object.keys(errors)}`;
    },
    shows: answers(['first', 'to: '], ['all', 'to: to,message']),
    reaches: (a, b) => a.reply.status === 400 && b.reply.status === 400,
  },
  sendAtFormats: {
    scene: (scene) =>
      [
        '2027-01-01T00:00:00Z',
        '20270101T000000Z',
        '2026-W53-5T00:00:00+00',
        '2026-365T24:00,0Z',
        '2027-01-01 00:00:00Z',
        '2027-01-01',
        '2027-01-01t00:00z',
        '2026-12-31T23:59:60Z',
        '2027-01-01T00Z',
        '2027-01-01T00:00:00.1234567Z',
      ]
        .map((send_at) => scene.send({ send_at }).status)
        .join(),
    shows: answers(
      ['rfc3339', '202,400,400,400,400,400,202,400,400,202'],
      ['iso8601', '202,202,202,202,400,400,202,400,202,202'],
      [
        ['space', 'date_only', 'leap_second', 'nine_decimals'],
        '202,400,400,400,202,202,400,202,400,202',
      ],
      [[], '202,400,400,400,400,400,400,400,400,400'],
    ),
    more: [
      ['no_minutes', 'hour_24'],
      ['basic', 'week_date', 'decimal_comma', 'short_offset'],
    ],
    judged: ['rfc3339', 'iso8601', [], ['space', 'date_only', 'hour_24']],
    reaches: both(invalid, names('send_at')),
  },
  characterUnit: {
    scene: (scene) =>
      ['x', '👋', 'e\u0301'].map((c) => scene.send({ message: c.repeat(1600) }).status).join(),
    shows: answers(
      ['code_points', '202,202,400'],
      ['utf16_units', '202,400,400'],
      ['graphemes', '202,202,202'],
    ),
    reaches: both(invalid, names('message')),
  },
  numberCheck: {
    scene: (scene) =>
      ['+1202555015', '+15555555555', '+12025550150'].map((to) => scene.send({ to }).status).join(),
    shows: answers(['possible', '400,202,202'], ['shape', '202,202,202'], ['valid', '400,400,202']),
    reaches: invalid,
  },
  sendAtZone: {
    scene: (scene) =>
      ['Z', '+00:00', '-01:00', '']
        .map((zone) => scene.send({ send_at: ahead(scene, minuteMs, zone) }).status)
        .join(),
    shows: answers(
      ['utc_only', '202,202,400,400'],
      ['any_offset', '202,202,202,400'],
      ['naive_is_utc', '202,202,400,202'],
      ['any', '202,202,202,202'],
    ),
    reaches: both(invalid, names('send_at')),
  },
  sendAtMaxAheadDays: {
    scene: (scene) =>
      [dayMs, dayMs + 1, 366 * dayMs]
        .map((ms) => scene.send({ send_at: ahead(scene, ms) }).status)
        .join(),
    shows: answers(['unlimited', '202,202,202'], [1, '202,400,400']),
    more: [30, 365],
    reaches: both(invalid, names('send_at')),
  },
  foreignNumber: {
    scene: (scene) => brief(scene.send({ from: numbers.bert })),
    shows: answers(
      ['access_denied', '403 from_number_access_deniedd'],
      ['not_found', '403 from_number_not_found'],
    ),
    reaches: (a, b) => isSend(a) && a.reply.status === 403 && b.reply.status === 403,
  },
  poolBesideOwnSim: {
    scene: (scene) => brief(scene.send({ from: numbers.pool })),
    shows: answers(
      ['access_denied', '403 from_number_access_deniedd'],
      ['allow', '202'],
      ['not_found', '403 from_number_not_found'],
    ),
    reaches: both(isSend, one(403)),
  },
  disconnectedSim: {
    scene: (scene) => {
      for (const sim of [0, 1]) {
        scene.play({ kind: 'patch_sim', who: 0, sim, changes: { connected: false } });
      }
      const reply = scene.send();
      return `${brief(reply)} ${JSON.parse(reply.body).from_number ?? ''}`.trim();
    },
    shows: answers(
      ['queues', `202 ${numbers.ada}`],
      ['device_inactive', '503 device_inactive'],
      ['access_denied', '403 from_number_access_deniedd'],
      ['pool', `202 ${numbers.pool}`],
    ),
    reaches: both(isSend, any(one(202), one(402), either(403, 503))),
  },
} satisfies Examples;
