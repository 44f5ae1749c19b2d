/**
 * A fixed mixed load, as a recorder would see it: two accounts and several keys send, repeat, read and
 * poll over a day and a half of simulated time, and meet every refusal and every limit.
 */
import type { TrafficExchange } from '../../src/commands/recorded-traffic.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { Rng } from '../../src/sim/random.ts';
import type { Simulation } from '../../src/simulation/simulation.ts';
import { createSimulator, type SettingsInput } from '../../src/simulator.ts';
import { ForeignService } from '../foreign/service.ts';
import type { Variation } from '../foreign/variation.ts';
import { callersIn, exhaustedFrom, flagsSettings } from '../harness/flags-world.ts';

export interface Asked {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A service whose clock the load moves. */
export interface Place {
  readonly key: string;
  readonly other: string;
  readonly second: string;
  readonly revoked: string;
  readonly exhausted: string;
  readonly device: string;
  readonly exhaustedFrom: string;
  now(): number;
  advance(ms: number): void;
  /** The account's owner changes its main SIM. */
  changeSim?(change: { active: boolean } | { polling: 'simulated' | 'external' }): void;
  answer(
    asked: Asked,
  ): Pick<NonNullable<TrafficExchange['reply']>, 'status' | 'headers'> & { body: string };
  close?(): Promise<void>;
}

const main = '+12025550102';
const inactive = '+12025550103';
const foreign = '+12025550111';

export async function simulatedPlace(
  assumptions: SettingsInput['assumptions'] = {},
  simulation?: (settings: Settings, startMs: number) => Simulation,
): Promise<Place & { close(): Promise<void> }> {
  const simulator = await createSimulator(
    { ...flagsSettings, clock: 'manual', assumptions: { ...assumptions } },
    { journal: false, simulation },
  );
  const callers = callersIn(simulator);
  return {
    ...callers,
    exhaustedFrom,
    now: () => simulator.simulation.clock.now(),
    changeSim: (change) => void simulator.sims.patch(callers.device, change),
    advance: (ms) => void simulator.clock.advance(`${ms}ms`),
    answer: ({ method, path: target, headers, body }) => {
      const [path = '', query = ''] = target.split('?', 2);
      const { authorization, 'content-type': contentType } = headers;
      const request = { method, path, query, authorization, contentType, body };
      const reply = simulator.handle({
        ...request,
        clientIp: '127.0.0.1',
        forwardedFor: undefined,
      });
      const date = new Date(simulator.simulation.clock.now()).toUTCString();
      return {
        status: reply.status,
        headers: { 'content-type': 'application/json', date, ...reply.headers },
        body: reply.body,
      };
    },
    close: () => simulator.close(),
  };
}

export function foreignPlace(variation: Variation): Place {
  let now = Date.parse('2026-03-05T09:00:00.250Z');
  const service = new ForeignService(variation, () => now);
  const flag = (name: string): string => service.flags[name] ?? '';
  return {
    key: flag('api-key'),
    other: flag('other-api-key'),
    second: flag('second-api-key'),
    revoked: flag('revoked-key'),
    exhausted: flag('exhausted-api-key'),
    device: flag('device-id'),
    exhaustedFrom: flag('exhausted-from'),
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    answer: ({ method, path, headers, body }) => {
      const [plain = '', query = ''] = path.split('?', 2);
      const request = { method, path: plain, query, headers, address: '127.0.0.1' };
      const reply = service.answer({ ...request, body: Buffer.from(body) });
      const date = new Date(now).toUTCString();
      return { ...reply, headers: { 'content-type': service.contentType, date, ...reply.headers } };
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

class Recorder {
  readonly exchanges: TrafficExchange[] = [];
  readonly place: Place;
  readonly #rng: Rng;

  constructor(place: Place, rng: Rng) {
    this.place = place;
    this.#rng = rng;
  }

  ask(
    method: string,
    path: string,
    key: string | undefined,
    body?: string,
    type = 'application/json',
  ) {
    const { place } = this;
    const headers = {
      ...(key !== undefined && { authorization: key.includes(' ') ? key : `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': type }),
    };
    const asked = { method, path, headers, body: body ?? '' };
    const reply = place.answer(asked);
    const now = place.now();
    const [plain = '', query = ''] = path.split('?', 2);
    this.exchanges.push({
      sentAt: now - this.#rng.below(30),
      answeredAt: now + this.#rng.below(40),
      host: '',
      method,
      path: plain,
      query,
      headers,
      showsCredential: true,
      address: 'address:1',
      body: body ?? '',
      reply,
      isForced: false,
      isSeen: true,
    });
    return { status: reply.status, json: parsed(reply.body) };
  }

  send(fields: Fields, key = this.place.key, path = '/api/v1/sms/send/') {
    const body = { to: '+12125550150', from: main, message: 'hello there', ...fields };
    return this.ask('POST', path, key, JSON.stringify(body));
  }

  read(id: unknown, key = this.place.key) {
    return this.ask('GET', `/api/v1/sms/${String(id)}/`, key);
  }

  /** So far into the next full minute that no flood lies across two, whatever the clocks say. */
  toNextMinute(): void {
    this.wait((60_000 - (this.place.now() % 60_000)) / 1000 + 15);
  }

  wait(seconds: number): void {
    this.place.advance(Math.round(seconds * 1000));
  }

  /** Does this so many times, each after a pause. */
  times(count: number, seconds: number, act: (at: number) => void): void {
    for (let at = 0; at < count; at++) {
      this.wait(seconds);
      act(at);
    }
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

const sends = ['/api/v1/sms/send/', '/api/sms/send/', '/api/external/send/'] as const;

/** The whole load; `rng` jitters the recorder's times. */
export function drive(place: Place, rng: Rng): TrafficExchange[] {
  const r = new Recorder(place, rng);
  const { key, other, second, revoked, exhausted, device } = place;
  const gets = ['/api/v1/sms/received/', '/api/v1/account/stats/', `/api/devices/${device}/tasks/`];
  let n = 0;
  const id = () => `load-${++n}`;

  // One after the other, as a client's day begins.
  r.ask('GET', '/api/v1/account/stats/', key);
  for (const path of sends) r.send({ request_id: id() }, key, path);
  r.send({ from: undefined, from_number: main });
  r.send({ message: 'é'.repeat(1_600) });
  r.send({ message: `${'x'.repeat(1_590)}${' '.repeat(30)}` });
  for (const to of ['+442079460958', '+4915112345678', '+33612345678']) r.send({ to });
  r.send({ message: 'über 😀' });
  r.send({ message: '😀'.repeat(801) });
  r.send({ message: 'x'.repeat(1_601) });
  for (const path of gets) r.ask('GET', path, key);
  for (const wrong of [
    ...[
      { to: '+1 212 555 0150' },
      { to: '+1-212-555-0150' },
      { to: '+１２１２５５５０１５０' },
      { message: null },
    ],
    ...[{ from: '+1 202 555 0102' }, { from: '+1-202-555-0102' }, { from: '+120' }],
    ...[{ to: undefined }, { to: '2125550150' }, { to: 12_125_550_150 }, { to: '+0' }],
    ...[{ from: undefined }, { from: '12025550102' }, { message: undefined }, { message: {} }],
    ...[{ request_id: [] }, { send_at: 'tomorrow' }, { send_at: '2020-01-01T00:00:00Z' }],
    ...[
      { send_at: new Date(place.now() - 60_000).toISOString() },
      { from: undefined, from_number: 'x' },
    ],
  ])
    r.send(wrong as Fields);
  for (const body of ['', '{', '[]', '"text"', 'null']) r.ask('POST', sends[0], key, body);
  r.wait(70);
  // Keys.
  r.wait(70);
  for (const wrong of [
    undefined,
    `Basic ${key}`,
    `Token ${key}`,
    'smst_wrong',
    revoked,
    key.slice(0, -1),
    `${key}x`,
    key.toUpperCase(),
  ]) {
    for (const path of gets) r.ask('GET', path, wrong);
    for (const path of sends)
      r.ask('POST', path, wrong, JSON.stringify({ to: '+12125550150', from: main, message: 'm' }));
    r.ask('GET', '/api/v1/sms/00000000-0000-4000-8000-000000000000/', wrong);
  }
  // Sender numbers.
  for (const from of ['+12025550199', foreign, inactive, '+12025550190']) r.send({ from });
  r.send({ from: foreign }, second);
  r.send({ from: place.exhaustedFrom }, exhausted);
  r.send({ from: place.exhaustedFrom, request_id: id() }, exhausted);
  r.wait(70);
  // Messages from acceptance to their end, read every five seconds.
  const followed = [
    r.send({ request_id: id() }),
    r.send({}),
    r.send({ to: '+12025550161', message: 'fails', request_id: id() }),
    r.send({ send_at: new Date(place.now() + 40_000).toISOString() }),
    r.send({ send_at: new Date(place.now() + 90_000).toISOString(), request_id: id() }),
    r.send({ request_id: id() }, other),
    r.send({ from: foreign, request_id: id() }, second),
  ].map(({ json }) => json['message_id']);
  r.times(36, 5, (at) => {
    for (const message of followed.slice(0, 6)) r.read(message);
    if (at === 3) r.ask('GET', `/api/v1/sms/${String(followed[0])}/`, undefined);
    r.read(followed[6], second);
    if (at % 6 === 0) r.read(followed[0], other);
    if (at % 9 === 0) r.read(followed[0], second);
  });
  const near = String(followed[0]).replace(/-.*/, '-0000-4000-8000-000000000000');
  for (const strange of ['00000000-0000-4000-8000-000000000000', 'not-an-id', near])
    r.read(strange);
  // Read every two seconds: no state can pass unseen.
  const closely = [r.send({ request_id: id() }), r.send({})].map(({ json }) => json['message_id']);
  r.times(50, 2, () => {
    for (const message of closely) r.read(message);
  });
  // Held messages, and a device that asks for its work meanwhile.
  const inAnHour = { send_at: new Date(place.now() + 3_600_000).toISOString() };
  const held = [
    r.send(inAnHour),
    r.send({ ...inAnHour, request_id: 'held' }),
    r.send(inAnHour, key, sends[2]),
    r.send({ send_at: `${new Date(place.now() + 3_600_000).toISOString().slice(0, 19)}+00:00` }),
    r.send({ send_at: `${new Date(place.now() + 3_600_000).toISOString().slice(0, 19)}Z` }),
    r.send({}),
  ].map(({ json }) => json['message_id']);
  r.send({ send_at: '2020-01-01T00:00:00.000Z' }, key, sends[2]);
  place.changeSim?.({ polling: 'external' });
  r.times(12, 1, () => {
    r.ask('GET', `/api/devices/${device}/tasks/`, key);
    r.wait(10);
    for (const message of held) r.read(message);
  });
  place.changeSim?.({ polling: 'simulated' });
  r.wait(3_700);
  r.send({ ...inAnHour, request_id: 'held' });
  for (const message of held) r.read(message);
  // Replays: at once, with another body, by another key, and after the status has changed.
  const replayed = { request_id: id(), message: 'replayed' };
  const first = r.send(replayed);
  r.send(replayed);
  r.wait(6);
  r.send(replayed);
  r.send({ ...replayed, message: 'another' });
  r.send(replayed, other);
  r.send(replayed, key, sends[1]);
  r.wait(60);
  r.read(first.json['message_id']);
  r.times(60, 0, () => r.send({ request_id: id() }));
  r.wait(61);
  r.send(replayed);
  for (const odd of [
    ...[`${'a'.repeat(130)}-1`, `${'a'.repeat(130)}-2`, 'Case-Of-It', 'case-of-it', ' spaced '],
    ...['spaced', 'ünïcödé'],
  ])
    for (const _ of [1, 2]) r.send({ request_id: odd, message: `odd ${odd}` });
  if (place.changeSim !== undefined) {
    place.changeSim({ active: false });
    r.wait(10);
    r.send(replayed);
    place.changeSim({ active: true });
    r.wait(10);
    r.send({});
  }
  const heldLong = r.send({ send_at: new Date(place.now() + 30 * 3_600_000).toISOString() });
  r.wait(61);
  const refused = { request_id: id(), from: '+12025550199' };
  r.send(refused);
  r.wait(6);
  r.send({ request_id: refused.request_id });
  r.wait(130);
  // What one bucket has to do with another.
  r.times(100, 0.2, () => r.read(first.json['message_id']));
  r.times(70, 0.5, () => {
    for (const path of sends) r.send({}, key, path);
  });
  r.wait(130);
  r.times(130, 0.05, () => {
    r.ask('GET', gets[0] ?? '', undefined);
    r.read('00000000-0000-4000-8000-000000000001');
  });
  r.times(20, 0, () => r.ask('GET', gets[0] ?? '', key));
  r.wait(130);
  // Each limit: a flood, a minute of a request a second, and the first ones that pass again.
  for (const [path, method, limit] of [
    ...sends.map((one) => [one, 'POST', 120] as const),
    ['/api/v1/sms/received/', 'GET', 120] as const,
    [`/api/devices/${device}/tasks/`, 'GET', 60] as const,
  ]) {
    const spend = (by: string) => {
      if (method === 'GET') r.ask('GET', path, by);
      else r.send({ to: '+12125550154' }, by, path);
    };
    r.toNextMinute();
    r.times(130, 0.05, (at) => spend(at % 3 === 0 ? other : key));
    r.times(75, 1, (at) => {
      spend(at % 5 === 0 ? other : key);
      if (at >= 3) return;
      r.read(first.json['message_id']);
      r.ask('GET', '/api/v1/account/stats/', key);
      if (method === 'GET') r.ask('GET', path, second);
      else r.send({ from: foreign }, second, path);
    });
    r.wait(150);
    // Steady, just above the limit.
    r.times(limit * 1.2, 56 / limit, () => spend(key));
    r.wait(150);
  }
  r.times(150, 0.2, () => {
    r.read(first.json['message_id']);
    r.ask('GET', '/api/v1/account/stats/', key);
  });
  // The edges of a day.
  const old = { request_id: id(), message: 'yesterday' };
  const kept = r.send(old);
  r.wait(23 * 3600);
  r.read(heldLong.json['message_id']);
  r.send(old);
  r.read(kept.json['message_id']);
  r.wait(3600 - 120);
  r.send(old);
  r.wait(240);
  r.send(old);
  r.send({ ...old, message: 'today' });
  r.read(kept.json['message_id']);
  r.wait(3600);
  r.send(old);
  return r.exchanges;
}
