/**
 * Requests of the control port: every operation, with the examples of its declaration and with
 * inputs that it must refuse. Leaves out operations that would make later failures legitimate: an
 * active fault, a reset, a shutdown. Streams, waits and metrics answer late, so they come only at
 * the end of a connection.
 */
import fc from 'fast-check';
import { servedOperations } from '#src/control/documents.ts';
import { type Operation, takesQuery } from '#src/operations/define.ts';
import { type OperationName, routeOf } from '#src/operations/table.ts';
import { inputsOf } from '../testkit/steps/operations.ts';
import { damaged } from './bodies.ts';
import type { Facts } from './facts.ts';
import { type Bytes, utf8, weighted } from './piece.ts';
import { ids } from './targets.ts';

export interface Row {
  readonly method: string;
  readonly target: Bytes;
  readonly body: Bytes;
}

/** Operations that `controlRows` never calls. */
const leftOut: readonly string[] = [
  'events.stream',
  'messages.wait',
  'simulator.metrics',
  'simulator.reset',
  'simulator.shutdown',
];

/** Inputs of operations whose declared examples would change what the fuzzer expects. */
const replacedExamples: Readonly<Record<string, readonly unknown[]>> = {
  'faults.add': [{ when: { nth: [999_999_999] }, fault: { kind: 'delay', ms: 0 } }],
  'exchanges.perform': [{ method: 'GET', path: '/api/v1/account/stats/' }],
};

const oddQueries = [
  '?limit=0',
  '?limit=a&limit=b',
  '?cursor=%00',
  '?text=%ff',
  '?status=none',
  '?x=1',
  '?from=+1',
  '?account_id=unknown',
  '?snapshot=',
  '??',
  '?kinds=x',
  '?message_id=1',
];

/** Requests that change the world and must succeed. */
export function worldChanges({ deviceIds }: Facts): fc.Arbitrary<Row> {
  const deviceId = fc.constantFrom(...deviceIds);
  const advance = fc.constantFrom('1ms', '5s', '20s', '61s', '61s', '1h', '25h', '31d');
  const patches = servedOperations.find(({ name }) => name === 'sims.patch')?.examples ?? [];
  return weighted<Row>(
    [6, advance.map((by) => rowOf('clock.advance', '', { by }))],
    [2, fc.constant(rowOf('clock.advance', '', { until_idle: true }))],
    [
      6,
      fc
        .tuple(deviceId, fc.constantFrom(...patches))
        .map(([id, patch]) => rowOf('sims.patch', id, patch)),
    ],
    [2, deviceId.map((id) => rowOf('sims.poll', id))],
  );
}

/** Requests of operations: mostly valid, some with a damaged body or an odd query or path. */
export function controlRows(facts: Facts): fc.Arbitrary<Row> {
  const valid = fc.oneof(
    ...servedOperations
      .filter(({ name }) => !leftOut.includes(name))
      .map((operation) => rowsOf(operation, facts)),
  );
  const withDamagedBody = valid.chain((row) => {
    const text = Buffer.from(row.body, 'latin1').toString();
    return damaged(fc.constant(text)).map((body) => ({ ...row, body }));
  });
  const withOddQuery = fc.tuple(valid, fc.constantFrom(...oddQueries));
  const state = routeOf('simulator.state').path;
  const oddPaths = [
    `${state}/`,
    state.replace('s', '%73'),
    '/control/',
    '/control/__proto__',
    '/control//',
  ];
  return weighted<Row>(
    [8, valid],
    [2, withDamagedBody],
    [
      1,
      withOddQuery.map(([row, query]) => ({
        ...row,
        target: row.target.replace(/\?.*|$/, query),
      })),
    ],
    [1, snapshots(facts)],
    [1, fc.constantFrom(...oddPaths).map((target) => ({ method: 'GET', target, body: '' }))],
  );
}

/** A request of an operation; its input is the query of a GET or DELETE, otherwise the body. */
export function rowOf(name: OperationName, id = '', input?: unknown): Row {
  const { method, path } = routeOf(name, id);
  return { method, target: path, body: input === undefined ? '' : utf8(JSON.stringify(input)) };
}

function rowsOf(operation: Operation, facts: Facts): fc.Arbitrary<Row> {
  const { verb, path, target } = operation;
  const id = target === undefined ? fc.constant('') : idsOf(operation, facts)[target];
  return fc
    .tuple(id, fc.constantFrom(...inputsOf(operation, replacedExamples)))
    .map(([id, input]) => {
      const pathWithId = path.replace(/\{\w+\}/, id);
      if (input === undefined) return { method: verb, target: pathWithId, body: '' };
      if (!takesQuery(operation)) {
        return { method: verb, target: pathWithId, body: utf8(JSON.stringify(input)) };
      }
      const query = new URLSearchParams(input as Record<string, string>);
      return { method: verb, target: `${pathWithId}?${query}`, body: '' };
    });
}

/** Never deletes the first account and the first key: requests to the service port use them. */
function idsOf({ verb }: Operation, facts: Facts) {
  const firstIndex = verb === 'DELETE' ? 1 : 0;
  return {
    account_id: ids(facts.accountIds.slice(firstIndex)),
    key_id: ids(facts.keyIds.slice(1)),
    device_id: ids(facts.deviceIds.slice(firstIndex)),
    message_id: ids(facts.messageIds),
    fault_id: ids(['fault-1', 'fault-2']),
    number: ids(['1', '2', '0', '1e3']),
    world_id: ids(['default', 'w0000000']),
  };
}

/** Restores the state after a reset, unchanged or with one number changed. */
function snapshots({ snapshot }: Facts): fc.Arbitrary<Row> {
  const numbersIn = [...snapshot.matchAll(/:-?\d+/g)].map(({ index }) => index + 1);
  const changes = fc.option(
    fc.tuple(fc.constantFrom(...numbersIn), fc.constantFrom('0', '-', '9', '1', 'null', '"x"')),
    { freq: 4, nil: undefined },
  );
  return changes.map((change) => {
    const row = rowOf('snapshots.restore');
    if (change === undefined) return { ...row, body: utf8(snapshot) };
    const [start, replacement] = change;
    const afterNumber = snapshot.slice(start).replace(/^-?\d+/, '');
    const body = snapshot.slice(0, start) + replacement + afterNumber;
    return { ...row, body: utf8(body) };
  });
}
