/**
 * Random commands for any simulator, and their results: requests to the service, and the operations
 * that journals record, except those of `leftOut`. A command names its target by a position in the
 * list of existing objects.
 */
import fc from 'fast-check';
import { perform } from '#src/operations/perform.ts';
import { operations } from '#src/operations/table.ts';
import type { ApiKey } from '#src/sim/accounts/account.ts';
import { OperationRefused } from '#src/sim/errors.ts';
import type { Simulator } from '#src/simulator.ts';
import { inputsOf } from '../steps/operations.ts';
import { position, weighted } from '../steps/step.ts';
import * as values from '../steps/values.ts';
import { itemAt } from './callers.ts';
import { bearer, postTo, requestTo, sendPaths } from './request.ts';

export interface Command {
  /** Its name and values, for messages of failed tests. */
  readonly label: string;
  readonly run: (simulator: Simulator) => unknown;
}

/** A kind of command: `run` with random fields. */
function commandKind<Fields>(
  name: string,
  fields: fc.Arbitrary<Fields>,
  run: (simulator: Simulator, fields: Fields) => unknown,
): fc.Arbitrary<Command> {
  return fields.map((drawn) => ({
    label: `${name}(${JSON.stringify(drawn)})`,
    run: (simulator) => run(simulator, drawn),
  }));
}

const send = commandKind(
  'send',
  fc.record({
    key: position,
    sim: position,
    to: fc.constantFrom(...values.recipients, 'nonsense'),
    requestId: fc.constantFrom(undefined, 'a', 'b', 'c'),
    aheadSeconds: fc.constantFrom(0, 30, 90_000),
  }),
  (simulator, { key, sim, to, requestId, aheadSeconds }) => {
    const sendAt = new Date(simulator.clock.now() + aheadSeconds * 1_000);
    const from = itemAt(simulator.simulation.world.devices.values(), sim)?.number;
    const fields = { to, from, message: 'Hello', request_id: requestId };
    const body = aheadSeconds > 0 ? { ...fields, send_at: sendAt } : fields;
    return simulator.handle(postTo(sendPaths.send, body, withKeyAt(simulator, key)));
  },
);

const get = commandKind(
  'get',
  fc.record({
    key: position,
    path: fc.constantFrom(
      '/api/v1/sms/{message}/',
      '/api/devices/{device}/tasks/',
      '/api/v1/sms/received/',
      '/api/v1/account/stats/',
    ),
    target: position,
  }),
  (simulator, { key, path, target }) => {
    const { messages, devices } = simulator.simulation.world;
    const found = path
      .replace('{message}', () => String(itemAt(messages.keys(), target)))
      .replace('{device}', () => String(itemAt(devices.keys(), target)));
    return simulator.handle(requestTo(found, withKeyAt(simulator, key)));
  },
);

/** Operations that would end the run, or make it depend on the wall clock. */
const leftOut = ['clock.setMode', 'simulator.reset', 'snapshots.restore', 'messages.advanceUntil'];
const played = operations.filter(({ name, recorded }) => recorded && !leftOut.includes(name));

const operate = fc.constantFrom(...played).chain((operation) =>
  commandKind(
    operation.name,
    fc.record({ target: position, input: fc.constantFrom(...inputsOf(operation)) }),
    (simulator, { target, input }) => {
      const id = operation.target && itemAt(idsOf(simulator)[operation.target], target);
      return perform(operation, simulator, id, input);
    },
  ),
);

const advance = commandKind('advance', fc.constantFrom(1, 20_000, 61_000, 9e6), ({ clock }, ms) =>
  clock.advance(ms),
);

const oneCommand = weighted([8, send], [6, get], [20, operate], [6, advance]);

export const someCommands = fc.array(oneCommand, { minLength: 1, maxLength: 40, size: 'max' });

export function outcomeOf(simulator: Simulator, { label, run }: Command): string {
  try {
    return `${label} ${JSON.stringify(run(simulator))}`;
  } catch (error) {
    if (error instanceof OperationRefused) return `${label} ${error.code}: ${error.message}`;
    throw error;
  }
}

function idsOf({ simulation }: Simulator) {
  const { accounts, devices, messages } = simulation.world;
  return {
    account_id: accounts.keys(),
    key_id: keysOf(simulation).map(({ keyId }) => keyId),
    device_id: devices.keys(),
    message_id: messages.keys(),
    fault_id: simulation.faults.list.map(({ faultId }) => faultId),
    number: ['1'],
    world_id: [],
  };
}

/** The header of the key at this position. */
function withKeyAt({ simulation }: Simulator, place: number): { readonly authorization: string } {
  return { authorization: bearer(itemAt(keysOf(simulation), place)?.key) };
}

/** All keys, grouped by account: a restored world lists them in this order. */
function keysOf({ world }: Simulator['simulation']): readonly ApiKey[] {
  return [...world.accounts.values()].flatMap(({ keys }) => keys);
}
