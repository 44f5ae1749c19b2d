/**
 * A fixed mixed load, as a recorder would see it. Two accounts with several keys send, replay, read
 * and poll over a day and a half of simulated time, and meet every refusal and every limit. The
 * judges of recorded traffic are tested on it.
 */
import type { TrafficExchange } from '#contract/exchange.ts';
import type { Rng } from '#src/sim/random.ts';
import {
  inactiveFrom,
  mainFrom,
  poolFrom,
  secondFrom,
  unknownFrom,
} from '../harness/flags-world.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import { exhaustLimits, mixBuckets, refillSeconds } from './load-limits.ts';
import {
  type Fields,
  messagePath,
  Recorder,
  receivedPath,
  statsPath,
  tasksPath,
} from './load-recorder.ts';
import type { LoadTarget } from './load-target.ts';

const allSendPaths = Object.values(sendPaths);

const unknownId = '00000000-0000-4000-8000-000000000000';
const hourSeconds = 3_600;
/** A second longer than the minute that a limit counts. */
const overAMinuteSeconds = 61;
/** Over a minute, with a margin for clocks that differ. */
const pastWindowSeconds = 70;
/** Long enough that a replay does not come at the time of its first send. */
const laterSeconds = 6;

/** The whole load; `rng` jitters the recorder's times. */
export function drive(target: LoadTarget, rng: Rng): TrafficExchange[] {
  const load = new Recorder(target, rng);
  sendVariety(load);
  tryKeys(load);
  trySenders(load);
  followMessages(load);
  holdMessages(load);
  const { firstId, heldLongId } = replayIds(load);
  mixBuckets(load, firstId);
  exhaustLimits(load, firstId);
  crossDayEdges(load, heldLongId);
  return load.exchanges;
}

/** Sends valid and malformed requests, one after the other. */
function sendVariety(load: Recorder): void {
  const { key } = load.target;
  load.get(statsPath, key);
  for (const path of allSendPaths) load.send({ request_id: load.nextId() }, key, path);
  load.send({ from: undefined, from_number: mainFrom });
  load.send({ message: 'é'.repeat(1_600) });
  load.send({ message: `${'x'.repeat(1_590)}${' '.repeat(30)}` });
  for (const to of ['+442079460958', '+4915112345678', '+33612345678']) load.send({ to });
  load.send({ message: 'über 😀' });
  load.send({ message: '😀'.repeat(801) });
  load.send({ message: 'x'.repeat(1_601) });
  for (const path of [receivedPath, statsPath, tasksPath(load.target)]) load.get(path, key);
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
    { send_at: load.inSeconds(-60) },
    { from: undefined, from_number: 'x' },
  ];
  for (const fields of wrongFields) load.send(fields);
  for (const body of ['', '{', '[]', '"text"', 'null']) load.post(sendPaths.send, key, body);
  load.wait(2 * pastWindowSeconds);
}

/** Calls every endpoint without a key, and with wrong ones. */
function tryKeys(load: Recorder): void {
  const { key, revokedKey } = load.target;
  for (const wrong of [
    undefined,
    `Basic ${key}`,
    `Token ${key}`,
    'smst_wrong',
    revokedKey,
    key.slice(0, -1),
    `${key}x`,
    key.toUpperCase(),
  ]) {
    for (const path of [receivedPath, statsPath, tasksPath(load.target)]) load.get(path, wrong);
    const body = JSON.stringify({ to: '+12125550150', from: mainFrom, message: 'm' });
    for (const path of allSendPaths) load.post(path, wrong, body);
    load.get(messagePath(unknownId), wrong);
  }
}

/** Sends from numbers that are unknown, of another account, inactive, or of the pool. */
function trySenders(load: Recorder): void {
  const { secondKey, exhaustedKey, exhaustedFrom: from } = load.target;
  for (const other of [unknownFrom, secondFrom, inactiveFrom, poolFrom]) load.send({ from: other });
  load.send({ from: secondFrom }, secondKey);
  load.send({ from }, exhaustedKey);
  load.send({ from, request_id: load.nextId() }, exhaustedKey);
  load.wait(pastWindowSeconds);
}

/** Reads messages from acceptance to their end, with the keys of their account and of others. */
function followMessages(load: Recorder): void {
  const { otherKey, secondKey } = load.target;
  const ofMain = [
    load.sent({ request_id: load.nextId() }),
    load.sent({}),
    load.sent({ to: '+12025550161', message: 'fails', request_id: load.nextId() }),
    load.sent({ send_at: load.inSeconds(40) }),
    load.sent({ send_at: load.inSeconds(90), request_id: load.nextId() }),
    load.sent({ request_id: load.nextId() }, otherKey),
  ];
  const [first] = ofMain;
  const ofSecond = load.sent({ from: secondFrom, request_id: load.nextId() }, secondKey);
  load.repeat({ count: 36, everySeconds: 5 }, (round) => {
    for (const message of ofMain) load.read(message);
    if (round === 3) load.get(messagePath(first), undefined);
    load.read(ofSecond, secondKey);
    if (round % 6 === 0) load.read(first, otherKey);
    if (round % 9 === 0) load.read(first, secondKey);
  });
  // An unknown id that begins like a known one.
  const similar = String(first).replace(/-.*/, '-0000-4000-8000-000000000000');
  for (const strange of [unknownId, 'not-an-id', similar]) load.read(strange);
  // Read every two seconds: no state can pass unseen.
  const closely = [load.sent({ request_id: load.nextId() }), load.sent({})];
  load.repeat({ count: 50, everySeconds: 2 }, () => {
    for (const message of closely) load.read(message);
  });
}

/** Reads held messages while a device asks for its work, and again after their hour. */
function holdMessages(load: Recorder): void {
  const { target } = load;
  const { key } = target;
  const inAnHour = { send_at: load.inSeconds(hourSeconds) };
  const wholeSeconds = inAnHour.send_at.slice(0, 19);
  const held = [
    load.sent(inAnHour),
    load.sent({ ...inAnHour, request_id: 'held' }),
    load.sent(inAnHour, key, sendPaths.external_send),
    load.sent({ send_at: `${wholeSeconds}+00:00` }),
    load.sent({ send_at: `${wholeSeconds}Z` }),
    load.sent({}),
  ];
  load.send({ send_at: '2020-01-01T00:00:00.000Z' }, key, sendPaths.external_send);
  target.changeSim?.({ polling: 'external' });
  load.repeat({ count: 12, everySeconds: 1 }, () => {
    load.get(tasksPath(target), key);
    load.wait(10);
    for (const message of held) load.read(message);
  });
  target.changeSim?.({ polling: 'simulated' });
  load.wait(hourSeconds + 100);
  load.send({ ...inAnHour, request_id: 'held' });
  for (const message of held) load.read(message);
}

/**
 * Sends ids again: at once, with another body, by another key, and after the status has changed.
 * Returns the message of the first id, and one that is held for 30 hours.
 */
function replayIds(load: Recorder) {
  const { target } = load;
  const replayed = { request_id: load.nextId(), message: 'replayed' };
  const firstId = load.sent(replayed);
  load.send(replayed);
  load.wait(laterSeconds);
  load.send(replayed);
  load.send({ ...replayed, message: 'another' });
  load.send(replayed, target.otherKey);
  load.send(replayed, target.key, sendPaths.dashboard_send);
  load.wait(60);
  load.read(firstId);
  load.repeat({ count: 60, everySeconds: 0 }, () => load.send({ request_id: load.nextId() }));
  load.wait(overAMinuteSeconds);
  load.send(replayed);
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
  for (const id of oddIds)
    for (const _ of [1, 2]) load.send({ request_id: id, message: `odd ${id}` });
  if (target.changeSim !== undefined) {
    target.changeSim({ active: false });
    load.wait(10);
    load.send(replayed);
    target.changeSim({ active: true });
    load.wait(10);
    load.send({});
  }
  const heldLongId = load.sent({ send_at: load.inSeconds(30 * hourSeconds) });
  load.wait(overAMinuteSeconds);
  const refused = { request_id: load.nextId(), from: unknownFrom };
  load.send(refused);
  load.wait(laterSeconds);
  load.send({ request_id: refused.request_id });
  load.wait(refillSeconds);
  return { firstId, heldLongId };
}

/** Repeats an id 23 hours later, two minutes before and after a day, and an hour after that. */
function crossDayEdges(load: Recorder, heldLongId: unknown): void {
  const old = { request_id: load.nextId(), message: 'yesterday' };
  const keptId = load.sent(old);
  load.wait(23 * hourSeconds);
  load.read(heldLongId);
  load.send(old);
  load.read(keptId);
  load.wait(hourSeconds - 120);
  load.send(old);
  load.wait(240);
  load.send(old);
  load.send({ ...old, message: 'today' });
  load.read(keptId);
  load.wait(hourSeconds);
  load.send(old);
}
