/**
 * A fixed mixed load, as a recorder would see it: two accounts and several keys send, repeat, read and
 * poll over a day and a half of simulated time, and meet every refusal and every limit.
 */
import type { TrafficExchange } from '../../src/commands/recorded-traffic.ts';
import type { Rng } from '../../src/sim/random.ts';
import {
  inactiveFrom,
  mainFrom,
  poolFrom,
  secondFrom,
  unknownFrom,
} from '../harness/flags-world.ts';
import {
  type Fields,
  messagePath,
  Recorder,
  receivedPath,
  sendPaths,
  statsPath,
  tasksPath,
} from './load-recorder.ts';
import type { LoadTarget } from './load-target.ts';

const unknownId = '00000000-0000-4000-8000-000000000000';
const hourSeconds = 3_600;
/** Just over the minute of the limits. */
const overAMinuteSeconds = 61;
/** Over a minute, with room for clocks that differ. */
const pastWindowSeconds = 70;
/** Over two minutes: the longest that a permitted bucket takes to refill. */
const refillSeconds = 130;
/** Refills the buckets too, also between two tests of one limit. */
const betweenFloodsSeconds = 150;
/** Some seconds, so that a replay is not the same instant as its first send. */
const laterSeconds = 6;
/** A steady load spends a whole limit in this time: slightly faster than the minute of the limit. */
const steadySeconds = 56;
/** How many limits a steady load spends: it lasts 67 s, longer than the minute of the limit. */
const steadyLimits = 1.2;

/** The whole load; `rng` jitters the recorder's times. */
export function drive(target: LoadTarget, rng: Rng): TrafficExchange[] {
  const r = new Recorder(target, rng);
  sendVariety(r);
  tryKeys(r);
  trySenders(r);
  followMessages(r);
  holdMessages(r);
  const { firstId, heldLongId } = replayIds(r);
  mixBuckets(r, firstId);
  exhaustLimits(r, firstId);
  crossDayEdges(r, heldLongId);
  return r.exchanges;
}

/** One request after the other, valid and malformed. */
function sendVariety(r: Recorder): void {
  const { key } = r.target;
  r.get(statsPath, key);
  for (const path of sendPaths) r.send({ request_id: r.nextId() }, key, path);
  r.send({ from: undefined, from_number: mainFrom });
  r.send({ message: 'é'.repeat(1_600) });
  r.send({ message: `${'x'.repeat(1_590)}${' '.repeat(30)}` });
  for (const to of ['+442079460958', '+4915112345678', '+33612345678']) r.send({ to });
  r.send({ message: 'über 😀' });
  r.send({ message: '😀'.repeat(801) });
  r.send({ message: 'x'.repeat(1_601) });
  for (const path of [receivedPath, statsPath, tasksPath(r.target)]) r.get(path, key);
  const wrongFields: readonly Fields[] = [
    { to: '+1 212 555 0150' },
    { to: '+1-212-555-0150' },
    { to: '+１２１２５５５０１５０' },
    { message: null },
    { from: '+1 202 555 0102' },
    { from: '+1-202-555-0102' },
    { from: '+120' },
    { to: undefined },
    { to: '2125550150' },
    { to: 12_125_550_150 },
    { to: '+0' },
    { from: undefined },
    { from: '12025550102' },
    { message: undefined },
    { message: {} },
    { request_id: [] },
    { send_at: 'tomorrow' },
    { send_at: '2020-01-01T00:00:00Z' },
    { send_at: r.inSeconds(-60) },
    { from: undefined, from_number: 'x' },
  ];
  for (const fields of wrongFields) r.send(fields);
  for (const body of ['', '{', '[]', '"text"', 'null']) r.post(sendPaths[0], key, body);
  r.wait(2 * pastWindowSeconds);
}

/** Calls every endpoint without a key, and with wrong ones. */
function tryKeys(r: Recorder): void {
  const { key, revoked } = r.target;
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
    for (const path of [receivedPath, statsPath, tasksPath(r.target)]) r.get(path, wrong);
    const body = JSON.stringify({ to: '+12125550150', from: mainFrom, message: 'm' });
    for (const path of sendPaths) r.post(path, wrong, body);
    r.get(messagePath(unknownId), wrong);
  }
}

/** Sends from numbers that are unknown, of another account, inactive, or of the pool. */
function trySenders(r: Recorder): void {
  const { second, exhausted, exhaustedFrom: from } = r.target;
  for (const other of [unknownFrom, secondFrom, inactiveFrom, poolFrom]) r.send({ from: other });
  r.send({ from: secondFrom }, second);
  r.send({ from }, exhausted);
  r.send({ from, request_id: r.nextId() }, exhausted);
  r.wait(pastWindowSeconds);
}

/** Reads messages from acceptance to their end, with the keys of their account and of others. */
function followMessages(r: Recorder): void {
  const { other, second } = r.target;
  const followed = [
    r.sent({ request_id: r.nextId() }),
    r.sent({}),
    r.sent({ to: '+12025550161', message: 'fails', request_id: r.nextId() }),
    r.sent({ send_at: r.inSeconds(40) }),
    r.sent({ send_at: r.inSeconds(90), request_id: r.nextId() }),
    r.sent({ request_id: r.nextId() }, other),
    r.sent({ from: secondFrom, request_id: r.nextId() }, second),
  ];
  r.times(36, 5, (at) => {
    for (const message of followed.slice(0, 6)) r.read(message);
    if (at === 3) r.get(messagePath(followed[0]), undefined);
    r.read(followed[6], second);
    if (at % 6 === 0) r.read(followed[0], other);
    if (at % 9 === 0) r.read(followed[0], second);
  });
  const near = String(followed[0]).replace(/-.*/, '-0000-4000-8000-000000000000');
  for (const strange of [unknownId, 'not-an-id', near]) r.read(strange);
  // Read every two seconds: no state can pass unseen.
  const closely = [r.sent({ request_id: r.nextId() }), r.sent({})];
  r.times(50, 2, () => {
    for (const message of closely) r.read(message);
  });
}

/** Reads held messages while a device asks for its work, and again after their hour. */
function holdMessages(r: Recorder): void {
  const { target } = r;
  const { key } = target;
  const inAnHour = { send_at: r.inSeconds(hourSeconds) };
  const wholeSeconds = inAnHour.send_at.slice(0, 19);
  const held = [
    r.sent(inAnHour),
    r.sent({ ...inAnHour, request_id: 'held' }),
    r.sent(inAnHour, key, sendPaths[2]),
    r.sent({ send_at: `${wholeSeconds}+00:00` }),
    r.sent({ send_at: `${wholeSeconds}Z` }),
    r.sent({}),
  ];
  r.send({ send_at: '2020-01-01T00:00:00.000Z' }, key, sendPaths[2]);
  target.changeSim?.({ polling: 'external' });
  r.times(12, 1, () => {
    r.get(tasksPath(target), key);
    r.wait(10);
    for (const message of held) r.read(message);
  });
  target.changeSim?.({ polling: 'simulated' });
  r.wait(hourSeconds + 100);
  r.send({ ...inAnHour, request_id: 'held' });
  for (const message of held) r.read(message);
}

/**
 * Sends ids again: at once, with another body, by another key, and after the status has changed.
 * Returns the message of the first id, and one that is held for 30 hours.
 */
function replayIds(r: Recorder) {
  const { target } = r;
  const replayed = { request_id: r.nextId(), message: 'replayed' };
  const firstId = r.sent(replayed);
  r.send(replayed);
  r.wait(laterSeconds);
  r.send(replayed);
  r.send({ ...replayed, message: 'another' });
  r.send(replayed, target.other);
  r.send(replayed, target.key, sendPaths[1]);
  r.wait(60);
  r.read(firstId);
  r.times(60, 0, () => r.send({ request_id: r.nextId() }));
  r.wait(overAMinuteSeconds);
  r.send(replayed);
  const oddIds = [
    // Two long ids that differ only at the end.
    `${'a'.repeat(130)}-1`,
    `${'a'.repeat(130)}-2`,
    'Case-Of-It',
    'case-of-it',
    ' spaced ',
    'spaced',
    'ünïcödé',
  ];
  for (const id of oddIds) for (const _ of [1, 2]) r.send({ request_id: id, message: `odd ${id}` });
  if (target.changeSim !== undefined) {
    target.changeSim({ active: false });
    r.wait(10);
    r.send(replayed);
    target.changeSim({ active: true });
    r.wait(10);
    r.send({});
  }
  const heldLongId = r.sent({ send_at: r.inSeconds(30 * hourSeconds) });
  r.wait(overAMinuteSeconds);
  const refused = { request_id: r.nextId(), from: unknownFrom };
  r.send(refused);
  r.wait(laterSeconds);
  r.send({ request_id: refused.request_id });
  r.wait(refillSeconds);
  return { firstId, heldLongId };
}

/** Shows which endpoints and callers share a bucket. */
function mixBuckets(r: Recorder, firstId: unknown): void {
  const { key } = r.target;
  r.times(100, 0.2, () => r.read(firstId));
  r.times(70, 0.5, () => {
    for (const path of sendPaths) r.send({}, key, path);
  });
  r.wait(refillSeconds);
  r.times(130, 0.05, () => {
    r.get(receivedPath, undefined);
    r.read('00000000-0000-4000-8000-000000000001');
  });
  r.times(20, 0, () => r.get(receivedPath, key));
  r.wait(refillSeconds);
}

/** Each limit: a flood, then a request a second until some pass again, then a steady load. */
function exhaustLimits(r: Recorder, firstId: unknown): void {
  const { key, other, second } = r.target;
  for (const [path, method, limit] of [
    ...sendPaths.map((one) => [one, 'POST', 120] as const),
    [receivedPath, 'GET', 120] as const,
    [tasksPath(r.target), 'GET', 60] as const,
  ]) {
    const spend = (by: string) => {
      if (method === 'GET') r.get(path, by);
      else r.send({ to: '+12125550154' }, by, path);
    };
    r.toNextMinute();
    r.times(130, 0.05, (at) => spend(at % 3 === 0 ? other : key));
    r.times(75, 1, (at) => {
      spend(at % 5 === 0 ? other : key);
      if (at >= 3) return;
      r.read(firstId);
      r.get(statsPath, key);
      if (method === 'GET') r.get(path, second);
      else r.send({ from: secondFrom }, second, path);
    });
    r.wait(betweenFloodsSeconds);
    r.times(limit * steadyLimits, steadySeconds / limit, () => spend(key));
    r.wait(betweenFloodsSeconds);
  }
  // Reads and statistics have no limit.
  r.times(150, 0.2, () => {
    r.read(firstId);
    r.get(statsPath, key);
  });
}

/** Repeats an id 23 hours later, two minutes before and after a day, and an hour after that. */
function crossDayEdges(r: Recorder, heldLongId: unknown): void {
  const old = { request_id: r.nextId(), message: 'yesterday' };
  const keptId = r.sent(old);
  r.wait(23 * hourSeconds);
  r.read(heldLongId);
  r.send(old);
  r.read(keptId);
  r.wait(hourSeconds - 120);
  r.send(old);
  r.wait(240);
  r.send(old);
  r.send({ ...old, message: 'today' });
  r.read(keptId);
  r.wait(hourSeconds);
  r.send(old);
}
