/**
 * The simulator against the reference model: random runs, and an example for each disagreement
 * found.
 * Rules: all of `docs/rules.md`. Assumes: every assumption, at random and switched at any time.
 */
import { expect, test } from 'vitest';
import { runs } from '../testkit/runs.ts';
import { numbers, Scene } from '../testkit/twin/scene.ts';
import { checkSequences } from './random-runs.ts';

test('simulator and model agree over random sequences', () => {
  // `npm run test:deep` plays more and longer ones, and checks the whole state after every step.
  checkSequences({ sequences: runs(60), soundEvery: 10, maxSteps: 25 });
});

test('SEND-7 SVC-3 a held message is picked up at the first poll after its hold', () => {
  const scene = new Scene();
  const accepted = scene.send({ send_at: '2026-01-15T10:00:00.001Z' });
  scene.advance(20_001);
  expect(scene.statusOf(accepted)).toBe('sending');
});

test('SEND-7 an explicit poll hands out a message whose hold ends at that millisecond', () => {
  const scene = new Scene();
  scene.send({ send_at: '2026-01-15T10:00:00.001Z', from: numbers.adaExternal });
  const tasks = `/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`;
  expect(JSON.parse(scene.get(tasks).body).tasks).toHaveLength(0);
  scene.advance(1);
  expect(JSON.parse(scene.get(tasks).body).tasks).toHaveLength(1);
});

test('STATE-3 under `own_delay` a message of an external device also progresses', () => {
  const scene = new Scene({ progressPace: 'own_delay' });
  const accepted = scene.send({ from: numbers.adaExternal });
  scene.get(`/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`);
  scene.advance(20_000);
  expect(scene.statusOf(accepted)).toBe('delivered');
});

test('STATE-2 under `reported` a message is handed out once, and is sending within 20 s', () => {
  const scene = new Scene({ taskPickup: 'reported' });
  const accepted = scene.send({ from: numbers.adaExternal });
  const tasks = `/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`;
  const handedOut = () => JSON.parse(scene.get(tasks).body).tasks.length;
  expect([handedOut(), scene.statusOf(accepted)]).toEqual([1, 'queued']);
  scene.advance(999);
  expect([handedOut(), scene.statusOf(accepted)]).toEqual([0, 'queued']);
  scene.advance(19_001);
  expect(scene.statusOf(accepted)).toBe('sending');
});

test('a message that fails at its pickup uses a place in the poll', () => {
  const scene = new Scene({ sendsPerPoll: 1 });
  const first = scene.send({ to: '+12025550160' });
  const second = scene.send();
  scene.play({ kind: 'poll_now', who: 0, sim: 0 });
  expect(scene.statusOf(first)).toBe('failed');
  expect(scene.statusOf(second)).toBe('queued');
});

test('a message stuck in `queued` survives the deactivation of its SIM', () => {
  const scene = new Scene();
  const accepted = scene.send({ to: '+12025550163' });
  scene.play({ kind: 'patch_sim', who: 0, sim: 0, changes: { active: false } });
  expect(scene.statusOf(accepted)).toBe('queued');
});

test('a refusal that burned its `request_id` is forgotten while refusals are free', () => {
  const scene = new Scene({ failedRequestId: 'burned' });
  expect(scene.send({ request_id: 'a', from: numbers.bert }).status).toBe(403);
  scene.play({ kind: 'assume', name: 'failedRequestId', answer: 'free' });
  expect(scene.send({ request_id: 'a' }).status).toBe(202);
});

test('a burned refusal has the error shape in force', () => {
  const scene = new Scene({ failedRequestId: 'burned' });
  scene.send({ request_id: 'a', to: 'x' });
  scene.play({ kind: 'assume', name: 'errorBody', answer: 'field_map' });
  expect(Object.keys(JSON.parse(scene.send({ request_id: 'a' }).body))).toEqual(['to']);
});

test('LIMIT-1 an error that spends no token leaves a `sliding_counter` as it was', () => {
  const scene = new Scene({ limiterRefill: 'sliding_counter', errorsSpendToken: 'no' });
  scene.limit('send', 1);
  scene.send({ to: 'x' });
  expect(scene.send().status).toBe(202);
});
