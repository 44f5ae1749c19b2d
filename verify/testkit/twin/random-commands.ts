/**
 * Random commands for any simulator, and their results: requests to the service, and every
 * operation that journals record. A command names its target by a position in the list of existing
 * objects.
 */
import fc from 'fast-check';
import { perform } from '#src/operations/perform.ts';
import { operations } from '#src/operations/table.ts';
import type { ApiKey } from '#src/sim/accounts/account.ts';
import { OperationRefused } from '#src/sim/errors.ts';
import type { Simulator } from '#src/simulator.ts';
import { inputsOf } from '../steps/operations.ts';
import * as values from '../steps/values.ts';
import { bearer, postTo, requestTo, sendPaths } from './request.ts';
import { itemAt } from './session.ts';

export interface Command {
  /** Its name and values, for messages of failed tests. */
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

/** A position in a list, which wraps around a shorter one. */
const position = fc.nat(7);

const send = commands(
  'send',
  fc.record({
    key: position,
    sim: position,
    to: fc.constantFrom(...values.recipients, 'nonsense'),
    requestId: fc.constantFrom(undefined, 'a', 'b', 'c'),
    aheadSeconds: fc.constantFrom(0, 30, 90_000),
  }),
  (simulator, { key, sim, to, requestId, aheadSeconds }) => {
    const sendAt = new Date(simulator.clock.now() + aheadSeconds * 1_000).toISOString();
    const { number } = itemAt(worldOf(simulator).devices.values(), sim) ?? {};
    const fields = { to, from: number, message: 'Hello', request_id: requestId };
    const body = aheadSeconds > 0 ? { ...fields, send_at: sendAt } : fields;
    return simulator.handle(postTo(sendPaths.send, body, withKeyAt(simulator, key)));
  },
);

const get = commands(
  'get',
  fc.record({
    key: position,
    what: fc.constantFrom('read', 'tasks', 'received', 'stats'),
    target: position,
  }),
  (simulator, { key, what, target }) => {
    const { messages, devices } = worldOf(simulator);
    const path = {
      read: `/api/v1/sms/${itemAt(messages.keys(), target)}/`,
      tasks: `/api/devices/${itemAt(devices.keys(), target)}/tasks/`,
      received: '/api/v1/sms/received/',
      stats: '/api/v1/account/stats/',
    }[what];
    return simulator.handle(requestTo(path ?? '', withKeyAt(simulator, key)));
  },
);

/** Operations that would end the run, or make it depend on the wall clock. */
const leftOut = ['clock.setMode', 'simulator.reset', 'snapshots.restore', 'messages.advanceUntil'];
const recorded = operations.filter(({ name, recorded }) => recorded && !leftOut.includes(name));

const operate = fc.constantFrom(...recorded).chain((operation) =>
  commands(
    operation.name,
    fc.record({ target: position, input: fc.constantFrom(...inputsOf(operation)) }),
    (simulator, { target, input }) => {
      const id = operation.target && itemAt(idsOf(simulator)[operation.target], target);
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

/** The header of the key at this position. */
function withKeyAt(simulator: Simulator, keyPosition: number): { readonly authorization: string } {
  return { authorization: bearer(itemAt(keysOf(simulator), keyPosition)?.key) };
}

/** All keys, grouped by account: a restored world lists them in this order. */
function keysOf(simulator: Simulator): readonly ApiKey[] {
  return [...worldOf(simulator).accounts.values()].flatMap(({ keys }) => keys);
}

function worldOf(simulator: Simulator) {
  return simulator.simulation.world;
}
