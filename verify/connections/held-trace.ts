/**
 * A fixed sequence of requests and clock moves in which every assumption has a visible effect: two
 * services with equal replies look the same to callers.
 */
import type { Assumptions } from '../../src/sim/assumptions.ts';
import {
  acmeNumber,
  acmeOtherNumber,
  dayMs,
  type Fields,
  globexNumber,
  pollMs,
  poolNumber,
  recipient,
  Twin,
  unknownNumber,
} from '../testkit/twin.ts';

const stats = '/api/v1/account/stats/';
const received = '/api/v1/sms/received/';

/** Every reply in order: the request, the status, the headers and the body. */
export function heldTrace(assumptions: Partial<Assumptions>): string[] {
  // Ids, phases and chances come from the seed and times are simulated, so only behaviour can
  // differ.
  const lines: string[] = [];
  for (const [name, part] of Object.entries(parts)) {
    const twin = Twin.assuming({ ...assumptions, ...part.under?.(assumptions) });
    const { handle } = twin.simulation;
    twin.simulation.handle = (request) => {
      const handled = handle.call(twin.simulation, request);
      const { status, headers, body } = handled.reply;
      lines.push(
        `${name}: ${request.method} ${request.path} ${status} ${JSON.stringify(headers)} ${body}`,
      );
      return handled;
    };
    lines.push(`${name}: ${twin.key()}`);
    part.run(twin);
  }
  return lines;
}

interface Part {
  readonly run: (twin: Twin) => void;
  /** Answers that the part needs to have an effect: a quota of 0 would hide everything else. */
  readonly under?: (assumptions: Partial<Assumptions>) => Partial<Assumptions>;
}

const withPlan = { under: () => ({ monthlyQuota: 1_000 }) } as const;

const parts: Readonly<Record<string, Part>> = {
  plan: {
    run: (twin) => {
      twin.send();
      twin.request('GET', stats);
      twin.send({}, { authorization: undefined });
    },
  },
  bodies: {
    ...withPlan,
    run: (twin) => {
      const bodies: Fields[] = [
        { message: 'x'.repeat(1_601) },
        { message: '😀'.repeat(801) },
        { message: 'e\u0301'.repeat(801) },
        { message: '  ' },
        { to: '+999123456789' },
        { to: '+11115550123' },
        { colour: 'blue' },
        { message: 42 },
        { send_at: null },
        { request_id: '' },
        { request_id: 'r'.repeat(64) },
        { request_id: 's'.repeat(65) },
        { request_id: 't'.repeat(255) },
        { request_id: 'u'.repeat(256) },
        { from_number: acmeNumber },
        { from_number: acmeOtherNumber },
        { from: globexNumber },
        { from: poolNumber },
        { from: unknownNumber, request_id: 'refused-once' },
        { request_id: 'refused-once' },
      ];
      for (const fields of bodies) twin.send(fields);
      twin.request('POST', '/api/v1/sms/send/', { contentType: 'application/json', body: '{' });
      twin.post(
        '/api/v1/sms/send/',
        { to: recipient, from: acmeNumber, message: 'plain' },
        { contentType: 'text/plain' },
      );
      twin.request('GET', stats.slice(0, -1));
      twin.request('DELETE', stats);
      twin.read('00000000-0000-4000-8000-000000000000');
      twin.request('GET', received);
      twin.request('GET', `/api/devices/${twin.device().deviceId}/tasks/`);
    },
  },
  replays: {
    ...withPlan,
    run: (twin) => {
      const fields = { to: recipient, from: acmeNumber, message: 'again', request_id: 'again' };
      twin.send(fields);
      twin.send({ ...fields, message: 'other' });
      twin.send({ ...fields, message: 'x'.repeat(1_601) });
      twin.post('/api/sms/send/', fields);
      twin.post('/api/external/send/', fields);
      const account = twin.account();
      const { world } = twin.simulation;
      const second = world.createKey(account, 'second');
      twin.send(fields, { authorization: `Bearer ${second.key}` });
      for (let n = 0; n < 121; n += 1) twin.send(fields);
      twin.send();
    },
  },
  held: {
    ...withPlan,
    run: (twin) => {
      const at = (days: number) => new Date(twin.now() + days * dayMs).toISOString();
      twin.read(twin.send({ send_at: at(0.5) }).json['message_id']);
      for (const days of [0.9, 1.1, 300, 366, 36_000]) twin.send({ send_at: at(days) });
      twin.send({ send_at: `${at(0.5).slice(0, 19)}+02:00` });
      twin.send({ send_at: at(0.5).slice(0, 19) });
      twin.send({ send_at: at(0.5).replaceAll(/[-:]/g, '') });
    },
  },
  buckets: {
    ...withPlan,
    run: (twin) => {
      twin.advance(9_500);
      for (let n = 0; n < 60; n += 1) twin.send();
      twin.advance(10_400);
      for (let n = 0; n < 130; n += 1) twin.send();
      for (const waitMs of [25_000, 24_700, 5_000, 5_000, 60_000]) {
        twin.advance(waitMs);
        for (let n = 0; n < 121; n += 1) twin.send();
      }
      for (let n = 0; n < 121; n += 1)
        twin.sendAs('globex', { from: globexNumber, message: 'x'.repeat(1_601) });
      twin.sendAs('globex', { from: globexNumber });
      const withoutKey = { authorization: undefined, forwardedFor: '203.0.113.9' };
      for (let n = 0; n < 122; n += 1) twin.request('GET', received, withoutKey);
      twin.request('GET', received, { ...withoutKey, forwardedFor: '203.0.113.10' });
    },
  },
  progress: {
    ...withPlan,
    run: (twin) => {
      const ids: unknown[] = [];
      for (const to of ['60', '61', '62', '63', '66'])
        ids.push(twin.send({ to: `+120255501${to}` }).json['message_id']);
      for (let n = 0; n < 40; n += 1) ids.push(twin.send({}).json['message_id']);
      for (let n = 0; n < 40; n += 1) {
        twin.advance(pollMs / 8);
        for (const id of ids) twin.read(id);
      }
      const queued = twin.send({ from: acmeOtherNumber }).json['message_id'];
      twin.simulation.world.patchDevice(twin.device(acmeOtherNumber), { active: false });
      twin.read(queued);
      twin.read(String(queued).toUpperCase());
      twin.simulation.world.patchDevice(twin.device(), { connected: false });
      twin.send();
      twin.simulation.world.patchDevice(twin.device(acmeOtherNumber), { connected: false });
      twin.send();
    },
  },
  quota: {
    under: () => ({ monthlyQuota: 2 }),
    run: (twin) => {
      twin.advance(19 * dayMs);
      twin.send({ message: 'x'.repeat(400) });
      for (const to of ['60', '61', '62']) {
        twin.send({ to: `+120255501${to}` });
        twin.advance(10 * pollMs);
      }
      twin.send();
      twin.send({ from: unknownNumber });
      twin.request('GET', stats);
      twin.advance(13 * dayMs);
      twin.send();
      twin.request('GET', stats);
    },
  },
};
