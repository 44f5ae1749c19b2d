/**
 * The probes: requests with which a discovered server and a simulator that was set up from the
 * discovery are compared (`compare.ts`). They go beyond what discovery itself sends: one for each
 * value of the random steps, and others about senders, replays and quotas.
 */
import { hourMs } from '#contract/time.ts';
import type { Callers } from '../harness/flags-world.ts';
import * as values from '../testkit/steps/values.ts';
import { writtenTime } from '../testkit/steps/written-time.ts';
import { bearer, sendPaths } from '../testkit/twin/request.ts';

/** Objects that exist on both servers, each with its own ids. */
export interface ProbeScene extends Callers {
  /** A message of this account, and the `request_id` that it was sent with. */
  readonly messageId: string;
  readonly requestId: string;
  /** A message of another account. */
  readonly secondMessageId: string;
  readonly nowMs: number;
}

export interface ProbeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface Probe {
  readonly name: string;
  /** One request, or several; the reply to the last one is compared. */
  readonly requests: (scene: ProbeScene) => readonly ProbeRequest[];
}

const sendPath = sendPaths.send;
const statsPath = '/api/v1/account/stats/';
const receivedPath = '/api/v1/sms/received/';
const unknownId = '8a6e0804-2bd0-4672-b79d-d97027f9071a';
const recipient = '+442079460958';
const json = 'application/json';

type Fields = Readonly<Record<string, unknown>>;
/** A value, or a function that takes it from the scene. */
type InScene<T> = T | ((scene: ProbeScene) => T);

function valueIn<T extends object | string | undefined>(value: InScene<T>, scene: ProbeScene): T {
  return typeof value === 'function' ? value(scene) : value;
}

function post(
  key: string | undefined,
  path: string,
  body: string | Buffer,
  type = json,
): ProbeRequest {
  const headers = {
    ...(type !== '' && { 'content-type': type }),
    ...(key !== undefined && { authorization: bearer(key) }),
  };
  return { method: 'POST', path, headers, body };
}

function bodyOf(scene: ProbeScene, fields: Fields): string {
  return JSON.stringify({ to: recipient, from: scene.from, message: 'probe', ...fields });
}

/**
 * Sends one body after another by `key` to the first send endpoint. The fields replace the usual
 * ones; undefined removes one.
 */
function send(name: string, ...bodies: readonly InScene<Fields>[]): Probe {
  return sendTo(sendPath, 'key', name, ...bodies);
}

/** Sends one body after another to this path, with this key. */
function sendTo(
  path: string,
  key: 'key' | 'otherKey' | 'exhaustedKey',
  name: string,
  ...bodies: readonly InScene<Fields>[]
): Probe {
  const call = (scene: ProbeScene, fields: InScene<Fields>) =>
    post(scene[key], path, bodyOf(scene, valueIn(fields, scene)));
  return { name, requests: (scene) => bodies.map((fields) => call(scene, fields)) };
}

/** A request without a body, with this text as `Authorization`, by default the account's key. */
function request(
  method: string,
  path: InScene<string>,
  authorization: InScene<string> = ({ key }) => bearer(key),
): Probe {
  return {
    name: `${method} ${path} ${authorization}`,
    requests: (scene) => {
      const credential = valueIn(authorization, scene);
      const headers = credential === '' ? {} : { authorization: credential };
      return [{ method, path: valueIn(path, scene), headers }];
    },
  };
}

/** A probe for each different value; its name begins with `what`. */
function each<T>(what: string, items: readonly T[], probe: (name: string, value: T) => Probe) {
  return [...new Set(items)].map((value) => {
    const text = String(JSON.stringify(value));
    return probe(`${what} ${text.slice(0, 60)} (${text.length})`, value);
  });
}

/** A send for each of these values of a field. */
function field(name: string, ...lists: readonly (readonly unknown[])[]): Probe[] {
  return each(name, lists.flat(), (title, value) => send(title, { [name]: value }));
}

const usedId = ({ requestId }: ProbeScene) => ({ request_id: requestId });
const fromExhausted = ({ exhaustedFrom }: ProbeScene) => ({ from: exhaustedFrom });

/** Texts of white space and of what some libraries count as such. */
const blanks = [
  '\r\n\n',
  '\u00a0\u00a0',
  '\u3000',
  '\ufeff',
  '\u0085',
  '\u001f',
  ' \t\u2009\n',
  '\u2028',
];

const inThreeHours = { aheadMs: 3 * hourMs, zone: 'Z', digits: 3, form: undefined };

/** Other spellings of a time in UTC. */
const spellings: readonly (readonly [part: string | RegExp, replacement: string])[] = [
  ['T', ' '],
  ['T', 't'],
  ['Z', 'z'],
  ['Z', ' UTC'],
  ['Z', ' '],
  ['.', ','],
  // Without seconds, and without minutes.
  [/:\d\d\..*Z/, 'Z'],
  [/:.*Z/, 'Z'],
  ['Z', '012345678Z'],
  ['Z', '+25:00'],
];

/** Leaves out the bodies at the edge of the largest size. */
const isShort = (body: string | Uint8Array) => body.length < 60_000;

export const probes: readonly Probe[] = [
  ...field('message', blanks, values.oddMessages, values.notTexts, [undefined]),
  ...field('to', values.oddNumbers, values.notTexts, [undefined, '00442079460958', '+2901']),
  ...field('from', values.oddNumbers, values.notTexts, [undefined, '+12025550190']),
  ...field('request_id', values.oddIds, values.notTexts, [' ', 'a\nb', 'a b/ü"\\']),
  ...field('send_at', values.oddTimes, values.notTexts, ['2001-01-01T00:00:00Z']),
  ...each('send_at in the zone', values.zones, (name, zone) => written(name, { zone })),
  ...each('send_at in the form', ['basic', 'week', 'ordinal'] as const, (name, form) =>
    written(name, { form }),
  ),
  ...each('send_at with digits', [0, 1, 6, 7], (name, digits) => written(name, { digits })),
  ...each('send_at spelled', spellings, (name, [part, replacement]) =>
    send(name, ({ nowMs }) => ({
      send_at: writtenTime(inThreeHours, nowMs).replace(part, replacement),
    })),
  ),
  send('from null next to an alias', ({ from }) => ({ from: null, from_number: from })),
  send('alias null next to from', { from_number: null }),
  send('alias alone', ({ from }) => ({ from: undefined, from_number: from })),
  send('alias alone, invalid', { from: undefined, from_number: 'x' }),
  send('from invalid next to a good alias', ({ from }) => ({ from: 'x', from_number: from })),
  send('alias invalid next to a good from', { from_number: 'x' }),
  send('alias of another account next to from', ({ secondFrom }) => ({ from_number: secondFrom })),
  send('from of another account', ({ secondFrom }) => ({ from: secondFrom })),
  send('from unknown', { from: '+442079460000' }),
  send('from not active', ({ inactiveFrom }) => ({ from: inactiveFrom })),

  send('replay', usedId),
  send('replay with another text', (scene) => ({ ...usedId(scene), message: 'no' })),
  send('replay that is invalid', (scene) => ({ ...usedId(scene), to: 'x' })),
  sendTo(sendPaths.external_send, 'key', 'replay at the external send', usedId),
  sendTo(sendPath, 'otherKey', 'replay with another key', usedId),
  send('replay of a number as text', { request_id: 81 }, { request_id: '81' }),
  send('request_id in another case', { request_id: 'Case-1' }, { request_id: 'case-1' }),
  send('request_id of an invalid send', { request_id: 'bad', to: 'x' }, { request_id: 'bad' }),

  send('to and message invalid', { to: 'x', message: 5.5 }),
  send('everything invalid', { to: 1, from: [], message: {}, request_id: {}, send_at: 'x' }),
  send('an unknown field and an invalid one', { colour: 'red', to: 'x' }),
  send('an unknown field called __proto__', JSON.parse('{"__proto__":"x"}') as Fields),
  send('three unknown fields', { a: 1, b: null, c: {} }),
  send('an invalid text from an unknown number', { from: '+442079460000', message: '' }),
  send('a held message', { send_at: '2031-01-01T00:00:00Z' }),
  sendTo(sendPath, 'exhaustedKey', 'a spent quota', fromExhausted),
  sendTo(sendPath, 'exhaustedKey', 'a spent quota, an unknown number', { from: '+442079460000' }),
  sendTo(sendPath, 'exhaustedKey', 'a spent quota, an invalid text', (scene) => ({
    ...fromExhausted(scene),
    message: 1.5,
  })),

  ...each('body', values.oddBodies.filter(isShort), (name, body) => ({
    name,
    requests: ({ key }) => [post(key, sendPath, Buffer.from(body))],
  })),
  ...each('type', values.contentTypes, (name, type) => ({
    name,
    requests: (scene) => [post(scene.key, sendPath, bodyOf(scene, {}), type)],
  })),
  ...Object.values(sendPaths).flatMap((path) => [
    sendTo(path, 'key', `send to ${path}`, {}),
    sendTo(path, 'key', `invalid send to ${path}`, { to: 'x' }),
  ]),

  request('GET', ({ messageId }) => `/api/v1/sms/${messageId}/`),
  request('HEAD', ({ messageId }) => `/api/v1/sms/${messageId}/`),
  request('PUT', ({ messageId }) => `/api/v1/sms/${messageId}/`),
  request('GET', ({ messageId }) => `/api/v1/sms/${messageId.toUpperCase()}/`),
  request('GET', ({ messageId }) => `/api/v1/sms/${messageId}`),
  request('GET', ({ messageId }) => `/api/v1/sms/${messageId}/?a=1`),
  request('GET', ({ secondMessageId }) => `/api/v1/sms/${secondMessageId}/`),
  ...[unknownId, ...values.unknownIds].flatMap((id) => [
    request('GET', `/api/v1/sms/${id}/`),
    request('GET', `/api/devices/${id}/tasks/`),
  ]),
  ...values.pageQueries.map((query) => request('GET', `${receivedPath}?${query}`)),
  ...values.nearPaths.map((path) => request('GET', path)),
  ...['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'].flatMap((method) =>
    [sendPath, statsPath, '/api/v3/'].map((path) => request(method, path)),
  ),
  {
    name: 'tasks',
    requests: (scene) => [post(scene.key, sendPath, bodyOf(scene, {})), tasksOf(scene)],
  },

  ...values.oddAuthorizations.map((text) =>
    request('GET', statsPath, ({ key, revokedKey }) => values.withKeys(text, key, revokedKey)),
  ),
  ...[statsPath, receivedPath, '/api/v1/nothing/', '/api/v1/sms/42/', statsPath.slice(0, -1)].map(
    (path) => request('GET', path, ''),
  ),
  request('DELETE', statsPath, ''),
  { name: 'no key, a send', requests: () => [post(undefined, sendPath, '{}')] },
];

/** Spends the minute's limit of task polls, so that the last request is refused. */
export const throttledProbe: Probe = {
  name: 'a request too many',
  requests: (scene) => Array.from({ length: 64 }, () => tasksOf(scene)),
};

function tasksOf({ deviceId, key }: ProbeScene): ProbeRequest {
  const headers = { authorization: bearer(key) };
  return { method: 'GET', path: `/api/devices/${deviceId}/tasks/`, headers };
}

/** A send whose `send_at` is written in another way. */
function written(name: string, choice: Partial<Parameters<typeof writtenTime>[0]>): Probe {
  return send(name, ({ nowMs }) => ({
    send_at: writtenTime({ ...inThreeHours, ...choice }, nowMs),
  }));
}
