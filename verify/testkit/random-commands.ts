/**
 * For property tests: commands of every kind, which any simulator can be given, and what it answers
 * to each. Targets are chosen by an index into whatever there is, so that a command always means
 * something.
 */
import fc from 'fast-check';
import type { ApiReply } from '../../src/http/service/messages.ts';
import { LeverError } from '../../src/sim/lever-error.ts';
import type { ApiKey } from '../../src/sim/records.ts';
import type { Simulator } from '../../src/simulator.ts';

export interface Command {
  readonly label: string;
  readonly run: (simulator: Simulator) => unknown;
}

const index = fc.nat(7);
const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % list.length];

const recipient = fc.constantFrom(
  '+12025550123',
  '+12025550124',
  '+12025550160',
  '+12025550161',
  '+12025550162',
  '+12025550163',
  '+12025550164',
  '+12025550166',
  'nonsense',
);

function command<Args extends unknown[]>(
  name: string,
  args: { [K in keyof Args]: fc.Arbitrary<Args[K]> },
  run: (simulator: Simulator, ...args: Args) => unknown,
): fc.Arbitrary<Command> {
  return fc.tuple(...args).map((values) => ({
    label: `${name}(${JSON.stringify(values)})`,
    run: (simulator) => run(simulator, ...(values as Args)),
  }));
}

const oneCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: command<[number, number, string, string, number]>(
      'send',
      [index, index, recipient, fc.constantFrom('', 'a', 'b', 'c'), fc.constantFrom(0, 30, 90_000)],
      (s, keyAt, simAt, to, requestId, aheadSeconds) => {
        const sendAt = new Date(s.clock.now() + aheadSeconds * 1_000).toISOString();
        const body = {
          to,
          from: pick([...s.simulation.world.devices.values()], simAt)?.number,
          message: 'Hello',
          ...(requestId !== '' && { request_id: requestId }),
          ...(aheadSeconds > 0 && { send_at: sendAt }),
        };
        return request(s, keyAt, 'POST', '/api/v1/sms/send/', JSON.stringify(body));
      },
    ),
  },
  {
    weight: 8,
    arbitrary: command<[number]>(
      'advance',
      [fc.constantFrom(1, 999, 20_000, 61_000, 9e6)],
      (s, by) => s.clock.advance(by),
    ),
  },
  command<[number, number]>('read', [index, index], (s, keyAt, at) => {
    const message = pick([...s.simulation.world.messages.values()], at);
    return request(s, keyAt, 'GET', `/api/v1/sms/${message?.messageId}/`, '');
  }),
  command<[number, string]>(
    'get',
    [index, fc.constantFrom('/api/v1/sms/received/', '/api/v1/account/stats/')],
    (s, keyAt, path) => request(s, keyAt, 'GET', path, ''),
  ),
  command<[number, number]>('tasks', [index, index], (s, keyAt, at) =>
    request(s, keyAt, 'GET', `/api/devices/${deviceAt(s, at)}/tasks/`, ''),
  ),
  command<[number]>('progress', [index], (s, at) => s.messages.progress(messageAt(s, at))),
  command<[number]>('fail', [index], (s, at) => s.messages.fail(messageAt(s, at))),
  command<[number]>('poll', [index], (s, at) => s.sims.poll(deviceAt(s, at))),
  command<[number, { active?: boolean; connected?: boolean; polling?: 'simulated' | 'external' }]>(
    'patchSim',
    [
      index,
      fc.record(
        {
          active: fc.boolean(),
          connected: fc.boolean(),
          polling: fc.constantFrom('simulated' as const, 'external' as const),
        },
        { requiredKeys: [] },
      ),
    ],
    (s, at, patch) => s.sims.patch(deviceAt(s, at), patch),
  ),
  command<[number]>('receive', [index], (s, at) => {
    const sim = pick(s.sims.list(accountAt(s, at)), at);
    const inbound = { from: '+12025550199', to: sim?.number ?? '+12025550190', message: 'hi' };
    return s.sims.receive(accountAt(s, at), inbound);
  }),
  command<[string, number]>(
    'createAccount',
    [fc.constantFrom('x', 'y'), fc.nat(3)],
    (s, name, quota) => {
      const { account_id: id } = s.accounts.create({ name, monthly_quota: quota });
      return [
        s.accounts.createKey(id, { name }).key,
        s.sims.create(id, { number: `+1202555017${quota}` }),
      ];
    },
  ),
  command<[number]>('deleteAccount', [index], (s, at) => s.accounts.delete(accountAt(s, at))),
  command<[number]>('createKey', [index], (s, at) =>
    s.accounts.createKey(accountAt(s, at), { name: 'again' }),
  ),
  command<[number]>('revokeKey', [index], (s, at) => {
    s.accounts.revokeKey(pick(keysOf(s), at)?.keyId ?? '');
  }),
  command<[number | null]>('limit', [fc.constantFrom(1, 3, null)], (s, send) =>
    s.limits.patch({ send }),
  ),
  command<[object]>(
    'assume',
    [
      fc.constantFrom(
        { progressPace: 'own_delay' },
        { progressPace: 'per_poll' },
        { failureRate: 0.5 },
        { sendsPerPoll: 1 },
        { pollIntervalSeconds: 7 },
        { failedRequestId: 'burned', replayScope: 'api_key' },
        { limiterRefill: 'continuous', refusedSpendsToken: 'yes' },
        { limiterRefill: 'interval' },
        { quotaMonth: 'rolling_30_days', quotaRefund: 'yes' },
      ),
    ],
    (s, answers) => s.assumptions.patch(answers),
  ),
  command<[number]>('fault', [fc.constantFrom(0, 0.3, 1)], (s, probability) =>
    s.faults.add({ when: { probability }, times: 3, fault: { kind: 'status', status: 500 } }),
  ),
  command('clearFaults', [], (s) => s.faults.clear()),
  command('stick', [], (s) =>
    s.outcomes.put({ outcomes: [{ to: '+12025550124', ends: 'stuck', in: 'sending' }] }),
  ),
);

export const someCommands = fc.array(oneCommand, { minLength: 1, maxLength: 40, size: 'max' });

/** What a command came to: its answer, or the refusal of a lever. */
export function outcomeOf(simulator: Simulator, { label, run }: Command): string {
  try {
    return `${label} ${JSON.stringify(run(simulator))}`;
  } catch (error) {
    if (error instanceof LeverError) return `${label} ${error.code}: ${error.message}`;
    throw error;
  }
}

function request(
  simulator: Simulator,
  keyAt: number,
  method: string,
  path: string,
  body: string,
): ApiReply {
  const key = pick(keysOf(simulator), keyAt)?.key;
  return simulator.handle({
    method,
    path,
    query: '',
    authorization: `Bearer ${key}`,
    contentType: 'application/json',
    clientIp: '127.0.0.1',
    forwardedFor: undefined,
    body,
  });
}

function keysOf(simulator: Simulator): readonly ApiKey[] {
  return [...simulator.simulation.world.accounts.values()].flatMap(({ keys }) => keys);
}

function messageAt(simulator: Simulator, at: number): string {
  return pick([...simulator.simulation.world.messages.keys()], at) ?? 'none';
}

function deviceAt(simulator: Simulator, at: number): string {
  return pick([...simulator.simulation.world.devices.keys()], at) ?? 'none';
}

function accountAt(simulator: Simulator, at: number): string {
  return pick([...simulator.simulation.world.accounts.keys()], at) ?? 'none';
}
