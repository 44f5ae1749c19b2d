/**
 * Hand-written requests, most of which discovery does not send. The discovered server and a
 * simulator that was set up from the discovery get them; `compare.ts` compares the replies.
 */

/** Objects that exist on both servers, each with its own ids. */
export interface Scene {
  readonly key: string;
  readonly otherKey: string;
  readonly revokedKey: string;
  readonly exhaustedKey: string;
  readonly from: string;
  readonly secondFrom: string;
  readonly exhaustedFrom: string;
  readonly inactiveFrom: string;
  readonly deviceId: string;
  /** A message of this account, and the `request_id` that it was sent with. */
  readonly messageId: string;
  readonly requestId: string;
  /** A message of another account. */
  readonly secondMessageId: string;
  readonly nowMs: number;
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Probe {
  readonly name: string;
  /** One request, or several; the reply to the last one is compared. */
  readonly calls: (scene: Scene) => readonly Call[];
}

const v1 = '/api/v1/sms/send/';
const to = '+442079460958';
const hourMs = 3_600_000;

type Fields = Readonly<Record<string, unknown>>;

function post(key: string | undefined, path: string, body: string | Buffer, type?: string): Call {
  return {
    method: 'POST',
    path,
    headers: {
      ...(type !== '' && { 'content-type': type ?? 'application/json' }),
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    body,
  };
}

function call(method: string, path: string, authorization?: string): Call {
  return { method, path, headers: authorization === undefined ? {} : { authorization } };
}

function fieldsOf(scene: Scene, fields: Fields): Fields {
  return { to, from: scene.from, message: 'probe', ...fields };
}

/** A send of the account with these fields; undefined removes a field. */
function send(name: string, fields: Fields | ((scene: Scene) => Fields), path = v1): Probe {
  return {
    name,
    calls: (scene) => [post(scene.key, path, JSON.stringify(fieldsOf(scene, give(fields, scene))))],
  };
}

function give(fields: Fields | ((scene: Scene) => Fields), scene: Scene): Fields {
  return typeof fields === 'function' ? fields(scene) : fields;
}

function raw(name: string, body: string | Buffer, type?: string, path = v1): Probe {
  return { name, calls: (scene) => [post(scene.key, path, body, type)] };
}

function get(name: string, path: (scene: Scene) => string, method = 'GET'): Probe {
  return { name, calls: (scene) => [call(method, path(scene), `Bearer ${scene.key}`)] };
}

/** Sends one body after another; the last reply counts. */
function sends(name: string, ...bodies: readonly ((scene: Scene) => Fields)[]): Probe {
  return {
    name,
    calls: (scene) =>
      bodies.map((body) => post(scene.key, v1, JSON.stringify(fieldsOf(scene, body(scene))))),
  };
}

/** A time three hours ahead, in parts to be spelled. */
function ahead(scene: Scene, spell: (parts: { date: string; time: string }) => string): Fields {
  const [date = '', time = ''] = new Date(scene.nowMs + 3 * hourMs).toISOString().split(/[TZ.]/);
  return { send_at: spell({ date, time }) };
}

const at = (name: string, spell: (parts: { date: string; time: string }) => string): Probe =>
  send(`send_at ${name}`, (scene) => ahead(scene, spell));

export const probes: readonly Probe[] = [
  // Texts.
  send('message of a tab', { message: '\t' }),
  send('message of line breaks', { message: '\r\n\n' }),
  send('message of a no-break space', { message: '\u00a0\u00a0' }),
  send('message of an ideographic space', { message: '\u3000' }),
  send('message of a zero-width space', { message: '\u200b\u200b' }),
  send('message of a byte order mark', { message: '\ufeff' }),
  send('message of a next-line character', { message: '\u0085' }),
  send('message of a unit separator', { message: '\u001f' }),
  send('message of mixed white space', { message: ' \t\u2009\n' }),
  send('message of a line separator', { message: '\u2028' }),
  send('message empty', { message: '' }),
  send('message with a NUL', { message: 'a\u0000b' }),
  send('message with a lone surrogate', { message: 'a\ud800b' }),
  send('message of 1,600 letters', { message: 'm'.repeat(1600) }),
  send('message of 1,601 letters', { message: 'm'.repeat(1601) }),
  send('message of 1,600 emoji', { message: '🙂'.repeat(1600) }),
  send('message of 401 families', { message: '👩‍👩‍👧‍👦'.repeat(401) }),
  send('message of 1,600 flags', { message: '🇬🇧'.repeat(1600) }),
  send('message of 1,601 characters that ends in a space', { message: `${'m'.repeat(1600)} ` }),
  send('message missing', { message: undefined }),
  send('message null', { message: null }),
  send('message a list', { message: ['a'] }),
  send('message an object', { message: { text: 'a' } }),
  send('message a boolean', { message: false }),
  send('message a fraction', { message: 1.5 }),
  send('message zero', { message: 0 }),

  // Numbers.
  send('to without plus', { to: '442079460958' }),
  send('to with spaces', { to: '+44 20 7946 0958' }),
  send('to with an outer space', { to: ` ${to}` }),
  send('to with two zeros', { to: '00442079460958' }),
  send('to of 16 digits', { to: '+4420794609581234' }),
  send('to of 15 digits', { to: '+442079460958123' }),
  send('to of 7 digits', { to: '+2904123' }),
  send('to of 4 digits', { to: '+2901' }),
  send('to with country code zero', { to: '+0442079460958' }),
  send('to of an unassigned country code', { to: '+2105551234567' }),
  send('to that no carrier has', { to: '+12015550000' }),
  send('to null', { to: null }),
  send('to a number', { to: 442079460958 }),
  send('to missing', { to: undefined }),
  send('to empty', { to: '' }),
  send('to in Arabic digits', { to: '+٤٤٢٠٧٩٤٦٠٩٥٨' }),
  send('from a number', { from: 12025550101 }),
  send('from without plus', { from: '12025550101' }),
  send('from null, and no alias', { from: null }),
  send('from null next to an alias', ({ from }) => ({ from: null, from_number: from })),
  send('alias null next to from', { from_number: null }),
  send('alias alone', ({ from }) => ({ from: undefined, from_number: from })),
  send('alias alone, invalid', { from: undefined, from_number: 'x' }),
  send('from invalid next to a good alias', ({ from }) => ({ from: 'x', from_number: from })),
  send('alias invalid next to a good from', { from_number: 'x' }),
  send('alias of another account next to from', ({ secondFrom }) => ({ from_number: secondFrom })),
  send('neither sender', { from: undefined }),
  send('from of another account', ({ secondFrom }) => ({ from: secondFrom })),
  send('from unknown', { from: '+442079460000' }),
  send('from not active', ({ inactiveFrom }) => ({ from: inactiveFrom })),
  send('from of the pool', { from: '+12025550190' }),

  // Ids of requests.
  send('request_id null', { request_id: null }),
  send('request_id a number', { request_id: 77 }),
  send('request_id a boolean', { request_id: true }),
  send('request_id a list', { request_id: [] }),
  send('request_id of a space', { request_id: ' ' }),
  send('request_id of 255 characters', { request_id: 'q'.repeat(255) }),
  send('request_id of 256 characters', { request_id: 'q'.repeat(256) }),
  send('request_id of 130 emoji', { request_id: '🙂'.repeat(130) }),
  send('request_id of odd characters', { request_id: 'a b/ü"\\' }),
  send('request_id of a line break', { request_id: 'a\nb' }),
  send('replay', ({ requestId }) => ({ request_id: requestId })),
  send('replay with another text', ({ requestId }) => ({ request_id: requestId, message: 'no' })),
  send('replay that is invalid', ({ requestId }) => ({ request_id: requestId, to: 'x' })),
  send(
    'replay at the external send',
    ({ requestId }) => ({ request_id: requestId }),
    '/api/external/send/',
  ),
  sends(
    'replay of a number as text',
    () => ({ request_id: 81 }),
    () => ({ request_id: '81' }),
  ),
  sends(
    'request_id in another case',
    () => ({ request_id: 'Case-1' }),
    () => ({ request_id: 'case-1' }),
  ),
  sends(
    'request_id of an invalid send',
    () => ({ request_id: 'was-invalid', to: 'x' }),
    () => ({ request_id: 'was-invalid' }),
  ),

  // Times.
  at('in UTC with Z', ({ date, time }) => `${date}T${time}Z`),
  at('with a space', ({ date, time }) => `${date} ${time}Z`),
  at('in small letters', ({ date, time }) => `${date}t${time}z`),
  at('without seconds', ({ date, time }) => `${date}T${time.slice(0, 5)}Z`),
  at('without minutes', ({ date, time }) => `${date}T${time.slice(0, 2)}Z`),
  at('with microseconds', ({ date, time }) => `${date}T${time}.123456Z`),
  at('with eight decimals', ({ date, time }) => `${date}T${time}.12345678Z`),
  at('with a dozen decimals', ({ date, time }) => `${date}T${time}.123456789012Z`),
  at('with a decimal comma', ({ date, time }) => `${date}T${time},5Z`),
  at('with an offset', ({ date, time }) => `${date}T${time}+01:30`),
  at('with an offset without colon', ({ date, time }) => `${date}T${time}+0130`),
  at('with an offset of hours', ({ date, time }) => `${date}T${time}+01`),
  at('with a negative zero offset', ({ date, time }) => `${date}T${time}-00:00`),
  at('with a zero offset', ({ date, time }) => `${date}T${time}+00:00`),
  at('with an impossible offset', ({ date, time }) => `${date}T${time}+25:00`),
  at('without a zone', ({ date, time }) => `${date}T${time}`),
  at('with the name of a zone', ({ date, time }) => `${date}T${time} UTC`),
  at('in outer spaces', ({ date, time }) => ` ${date}T${time}Z `),
  send('send_at of a date alone', { send_at: '2031-05-06' }),
  send('send_at of a week date', { send_at: '2031-W20-3T10:00:00Z' }),
  send('send_at of an ordinal date', { send_at: '2031-133T10:00:00Z' }),
  send('send_at in month 13', { send_at: '2031-13-01T10:00:00Z' }),
  send('send_at on 30 February', { send_at: '2031-02-30T10:00:00Z' }),
  send('send_at at hour 24', { send_at: '2031-05-06T24:00:00Z' }),
  send('send_at on a leap second', { send_at: '2031-06-30T23:59:60Z' }),
  send('send_at in English', { send_at: 'Tue, 06 May 2031 10:00:00 GMT' }),
  send('send_at in the past', { send_at: '2001-01-01T00:00:00Z' }),
  send('send_at empty', { send_at: '' }),
  send('send_at null', { send_at: null }),
  send('send_at a number of seconds', { send_at: 1_935_000_000 }),
  send('send_at a boolean', { send_at: false }),
  send('send_at in the year 9998', { send_at: '9998-01-01T00:00:00Z' }),

  // Several mistakes.
  send('to and message invalid', { to: 'x', message: 5.5 }),
  send('everything invalid', { to: 1, from: [], message: {}, request_id: {}, send_at: 'x' }),
  send('an unknown field and an invalid one', { colour: 'red', to: 'x' }),
  send('an unknown field called __proto__', JSON.parse('{"__proto__":"x"}') as Fields),
  send('three unknown fields', { a: 1, b: null, c: {} }),
  send('an invalid text from an unknown number', { from: '+442079460000', message: '' }),

  // Bodies.
  raw('body empty', ''),
  raw('body a list', '[]'),
  raw('body null', 'null'),
  raw('body a text', '"send"'),
  raw('body of 80,000 bytes', JSON.stringify({ to, message: 'm'.repeat(80_000) })),
  raw('body cut', '{"to":"+442079460958"'),
  raw('body with a comma too many', '{"to":"+442079460958",}'),
  raw('body of an empty object', '{}'),
  raw('body not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
  raw('body with NaN', '{"to":NaN}'),
  raw('body as a form', 'to=%2B442079460958&message=a', 'application/x-www-form-urlencoded'),
  {
    name: 'body without a type',
    calls: (scene) => [post(scene.key, v1, JSON.stringify(fieldsOf(scene, {})), '')],
  },
  {
    name: 'body as JSON of a vendor',
    calls: (scene) => [
      post(scene.key, v1, JSON.stringify(fieldsOf(scene, {})), 'application/vnd.api+json'),
    ],
  },
  {
    name: 'body with a charset',
    calls: (scene) => [
      post(scene.key, v1, JSON.stringify(fieldsOf(scene, {})), 'Application/JSON; charset=utf-8'),
    ],
  },
  {
    name: 'body with a field twice',
    calls: (scene) => [
      post(scene.key, v1, JSON.stringify(fieldsOf(scene, {})).replace('{', '{"to":"x",')),
    ],
  },

  // Other endpoints.
  send('dashboard send', {}, '/api/sms/send/'),
  send('external send', {}, '/api/external/send/'),
  send('dashboard send, invalid', { to: 'x' }, '/api/sms/send/'),
  get('read', ({ messageId }) => `/api/v1/sms/${messageId}/`),
  get('read in capitals', ({ messageId }) => `/api/v1/sms/${messageId.toUpperCase()}/`),
  get('read without slash', ({ messageId }) => `/api/v1/sms/${messageId}`),
  get('read of what is no UUID', () => '/api/v1/sms/42/'),
  get('read of an unknown message', () => '/api/v1/sms/8a6e0804-2bd0-4672-b79d-d97027f9071a/'),
  get("read of another account's message", (scene) => `/api/v1/sms/${scene.secondMessageId}/`),
  get('read with a query', ({ messageId }) => `/api/v1/sms/${messageId}/?a=1`),
  get('HEAD of a message', ({ messageId }) => `/api/v1/sms/${messageId}/`, 'HEAD'),
  get('stats', () => '/api/v1/account/stats/'),
  get('received', () => '/api/v1/sms/received/'),
  get('received, page 0', () => '/api/v1/sms/received/?page=0'),
  get('received, page 001', () => '/api/v1/sms/received/?page=001'),
  get('received, page escaped', () => '/api/v1/sms/received/?page=%31'),
  get('received, page twice', () => '/api/v1/sms/received/?page=0&page=1'),
  get('received, page 99', () => '/api/v1/sms/received/?page=99'),
  get('received, page of letters', () => '/api/v1/sms/received/?page=first'),
  get('received, ten of a page', () => '/api/v1/sms/received/?page_size=10'),
  get('received, a page too large', () => '/api/v1/sms/received/?page_size=5000'),
  {
    name: 'tasks',
    calls: (scene) => [
      post(scene.key, v1, JSON.stringify(fieldsOf(scene, {}))),
      call('GET', `/api/devices/${scene.deviceId}/tasks/`, `Bearer ${scene.key}`),
    ],
  },
  get(
    'tasks of an unknown device',
    () => '/api/devices/8a6e0804-2bd0-4672-b79d-d97027f9071a/tasks/',
  ),
  get('tasks of what is no UUID', () => '/api/devices/seven/tasks/'),

  // Methods and paths.
  get('an unknown path', () => '/api/v1/nothing/'),
  get('the root', () => '/'),
  get('a version that is none', () => '/api/v2/account/stats/'),
  get('send read', () => v1),
  get('send without slash, as a read', () => '/api/v1/sms/send'),
  get('a path in capitals', () => '/api/v1/Account/Stats/'),
  get('a path with two slashes', () => '/api/v1//account/stats/'),
  get('PUT of a message', ({ messageId }) => `/api/v1/sms/${messageId}/`, 'PUT'),
  get('DELETE of received', () => '/api/v1/sms/received/', 'DELETE'),
  get('OPTIONS of send', () => v1, 'OPTIONS'),
  get('OPTIONS of stats', () => '/api/v1/account/stats/', 'OPTIONS'),
  get('HEAD of send', () => v1, 'HEAD'),
  get('PATCH of an unknown path', () => '/api/v3/', 'PATCH'),
  raw('POST without slash', '{}', undefined, '/api/v1/sms/send'),

  // Keys.
  {
    name: 'three spaces before the key',
    calls: ({ key }) => [call('GET', '/api/v1/account/stats/', `Bearer   ${key}`)],
  },
  { name: 'no key', calls: () => [call('GET', '/api/v1/sms/received/')] },
  { name: 'no key, a send', calls: () => [post(undefined, v1, '{}')] },
  { name: 'no key, an unknown path', calls: () => [call('GET', '/api/v1/nothing/')] },
  { name: 'no key, another method', calls: () => [call('DELETE', '/api/v1/account/stats/')] },
  { name: 'no key, what is no UUID', calls: () => [call('GET', '/api/v1/sms/42/')] },
  { name: 'no key, no slash', calls: () => [call('GET', '/api/v1/account/stats')] },
  {
    name: 'a revoked key',
    calls: (s) => [call('GET', '/api/v1/account/stats/', `Bearer ${s.revokedKey}`)],
  },
  {
    name: 'a key in small letters of its scheme',
    calls: (s) => [call('GET', '/api/v1/account/stats/', `bearer ${s.key}`)],
  },
  {
    name: 'a key behind two spaces',
    calls: (s) => [call('GET', '/api/v1/account/stats/', `Bearer  ${s.key}`)],
  },
  {
    name: 'a key with more behind it',
    calls: (s) => [call('GET', '/api/v1/account/stats/', `Bearer ${s.key} x`)],
  },
  {
    name: 'a key of another scheme',
    calls: (s) => [call('GET', '/api/v1/account/stats/', `Token ${s.key}`)],
  },
  { name: 'a key without scheme', calls: (s) => [call('GET', '/api/v1/account/stats/', s.key)] },
  {
    name: 'a spent quota',
    calls: (s) => [
      post(s.exhaustedKey, v1, JSON.stringify({ to, from: s.exhaustedFrom, message: 'a' })),
    ],
  },
  {
    name: 'a spent quota, an unknown number',
    calls: (s) => [
      post(s.exhaustedKey, v1, JSON.stringify({ to, from: '+442079460000', message: 'a' })),
    ],
  },
  {
    name: 'a spent quota, an invalid text',
    calls: (s) => [
      post(s.exhaustedKey, v1, JSON.stringify({ to, from: s.exhaustedFrom, message: 1.5 })),
    ],
  },
  {
    name: 'a replay with another key',
    calls: (s) => [post(s.otherKey, v1, JSON.stringify(fieldsOf(s, { request_id: s.requestId })))],
  },
  {
    name: 'a held message',
    calls: (s) => [
      post(s.key, v1, JSON.stringify(fieldsOf(s, { send_at: '2031-01-01T00:00:00Z' }))),
    ],
  },
];

/** Uses up the tasks' limit of one minute: the last request is refused. */
export const throttledProbe: Probe = {
  name: 'a request too many',
  calls: (scene) =>
    Array.from({ length: 64 }, () =>
      call('GET', `/api/devices/${scene.deviceId}/tasks/`, `Bearer ${scene.key}`),
    ),
};
