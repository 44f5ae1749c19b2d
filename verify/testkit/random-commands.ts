/**
 * Random commands for any simulator, and their results: requests of the service, and every
 * operation that journals record. Targets are chosen by an index into the existing objects.
 */
import fc from 'fast-check';
import { perform } from '../../src/operations/define.ts';
import { operations } from '../../src/operations/table.ts';
import { OperationRefused } from '../../src/sim/operation-refused.ts';
import type { ApiKey } from '../../src/sim/records.ts';
import type { Simulator } from '../../src/simulator.ts';
import { bearer, postTo, requestTo, sendPaths } from './request.ts';
import { inputsOf } from './steps/operations.ts';
import * as values from './steps/values.ts';

export interface Command {
  readonly label: string;
  readonly run: (simulator: Simulator) => unknown;
}

function commands<Fields>(
  name: string,
  fields: fc.Arbitrary<Fields>,
  run: (simulator: Simulator, fields: Fields) => unknown,
): fc.Arbitrary<Command> {
  return fields.map((drawn) => ({
    label: `${name}(${JSON.stringify(drawn)})`,
    run: (simulator) => run(simulator, drawn),
  }));
}

const index = fc.nat(7);

const send = commands(
  'send',
  fc.record({
    key: index,
    sim: index,
    to: fc.constantFrom(...values.recipients, 'nonsense'),
    requestId: fc.constantFrom(undefined, 'a', 'b', 'c'),
    aheadSeconds: fc.constantFrom(0, 30, 90_000),
  }),
  (simulator, { key, sim, to, requestId, aheadSeconds }) => {
    const sendAt = new Date(simulator.clock.now() + aheadSeconds * 1_000).toISOString();
    const { number } = at(worldOf(simulator).devices.values(), sim) ?? {};
    const fields = { to, from: number, message: 'Hello', request_id: requestId };
    const body = aheadSeconds > 0 ? { ...fields, send_at: sendAt } : fields;
    return simulator.handle(postTo(sendPaths.send, body, asKey(simulator, key)));
  },
);

const get = commands(
  'get',
  fc.record({ key: index, what: fc.constantFrom('read', 'tasks', 'received', 'stats'), of: index }),
  (simulator, { key, what, of }) => {
    const { messages, devices } = worldOf(simulator);
    const path = {
      read: `/api/v1/sms/${at(messages.keys(), of)}/`,
      tasks: `/api/devices/${at(devices.keys(), of)}/tasks/`,
      received: '/api/v1/sms/received/',
      stats: '/api/v1/account/stats/',
    }[what];
    return simulator.handle(requestTo(path ?? '', asKey(simulator, key)));
  },
);

/** Operations that would end the run, or make it depend on the wall clock. */
const leftOut = ['clock.setMode', 'simulator.reset', 'snapshots.restore', 'messages.advanceUntil'];
const recorded = operations.filter(({ name, recorded }) => recorded && !leftOut.includes(name));

const operate = fc.constantFrom(...recorded).chain((operation) =>
  commands(
    operation.name,
    fc.record({ of: index, input: fc.constantFrom(...inputsOf(operation)) }),
    (simulator, { of, input }) => {
      const id = operation.target && at(idsOf(simulator)[operation.target], of);
      return perform(operation, simulator, id, input);
    },
  ),
);

const oneCommand = fc.oneof(
  { weight: 8, arbitrary: send },
  { weight: 6, arbitrary: get },
  { weight: 20, arbitrary: operate },
  {
    weight: 6,
    arbitrary: commands('advance', fc.constantFrom(1, 20_000, 61_000, 9e6), (simulator, ms) =>
      simulator.clock.advance(ms),
    ),
  },
);

export const someCommands = fc.array(oneCommand, { minLength: 1, maxLength: 40, size: 'max' });

/** The result of a command: its answer, or the refusal of an operation. */
export function outcomeOf(simulator: Simulator, { label, run }: Command): string {
  try {
    return `${label} ${JSON.stringify(run(simulator))}`;
  } catch (error) {
    if (error instanceof OperationRefused) return `${label} ${error.code}: ${error.message}`;
    throw error;
  }
}

function idsOf(simulator: Simulator) {
  const { accounts, devices, messages } = worldOf(simulator);
  return {
    account_id: accounts.keys(),
    key_id: keysOf(simulator).map(({ keyId }) => keyId),
    device_id: devices.keys(),
    message_id: messages.keys(),
    fault_id: simulator.simulation.faults.list.map(({ faultId }) => faultId),
    number: ['1'],
    world_id: [],
  };
}

function asKey(simulator: Simulator, keyIndex: number): { readonly authorization: string } {
  return { authorization: bearer(at(keysOf(simulator), keyIndex)?.key) };
}

/** All keys, grouped by account: a restored world lists them in this order. */
function keysOf(simulator: Simulator): readonly ApiKey[] {
  return [...worldOf(simulator).accounts.values()].flatMap(({ keys }) => keys);
}

function worldOf(simulator: Simulator) {
  return simulator.simulation.world;
}

function at<T>(all: Iterable<T>, index: number): T | undefined {
  const list = [...all];
  return list[index % list.length];
}
