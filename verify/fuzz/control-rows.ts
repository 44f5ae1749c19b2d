/**
 * Requests of the control port: every operation, with the examples of its declaration and with
 * inputs that it must refuse. Leaves out operations that would make later failures legitimate: an
 * active fault, a reset, a shutdown. Streams, waits and metrics answer late, so they come only at
 * the end of a connection (`broken.ts`).
 */
import fc from 'fast-check';
import { servedOperations } from '#src/control/documents.ts';
import { type Operation, takesQuery } from '#src/operations/define.ts';
import { type OperationName, routeOf } from '#src/operations/table.ts';
import { inputsOf } from '../testkit/steps/operations.ts';
import { weighted } from '../testkit/steps/step.ts';
import {
  chunkSizes,
  crlf,
  damaged,
  type RawRequest,
  type RequestParts,
  rarely,
  rawRequest,
  utf8,
} from './raw-request.ts';
import type { Facts } from './served.ts';
import { extraHeaders, ids } from './service-requests.ts';

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
  '?from=+1',
  '?account_id=unknown',
  '?snapshot=',
  '??',
  '?kinds=x',
  '?message_id=1',
];

const oddPaths = ['/control/state/', '/control/%73tate', '/control/__proto__', '/control//'];

export function worldChanges(facts: Facts): fc.Arbitrary<RequestParts> {
  return rowsOf(facts, (name) => ['clock.advance', 'sims.patch', 'sims.poll'].includes(name));
}

/** Requests of operations: mostly valid, some with a damaged body or an odd query or path. */
function controlRows(facts: Facts): fc.Arbitrary<RequestParts> {
  const valid = rowsOf(facts, (name) => !leftOut.includes(name));
  const withDamagedBody = valid.chain((row) =>
    damaged(fc.constant(row.body)).map((body) => ({ ...row, body })),
  );
  const withOddQuery = fc
    .tuple(valid, fc.constantFrom(...oddQueries))
    .map(([row, query]) => ({ ...row, target: row.target.replace(/\?.*|$/, query) }));
  const toOddPath = fc
    .constantFrom(...oddPaths)
    .map((target) => ({ method: 'GET', target, body: '' }));
  const changed = fc.oneof(withOddQuery, toOddPath, snapshots(facts));
  return weighted([8, valid], [2, withDamagedBody], [3, changed]);
}

export function controlRequests(facts: Facts): fc.Arbitrary<RawRequest> {
  const oddHosts = fc.constantFrom('evil.example', '127.0.0.1:99999', '[::1', '');
  const host = rarely('localhost', 20, oddHosts).map((name) => [`Host: ${name}`]);
  const origin = rarely<string[]>([], 30, fc.constant(['Origin: http://evil.example']));
  return fc
    .tuple(controlRows(facts), fc.tuple(host, origin, extraHeaders), chunkSizes)
    .map(([row, lines, chunkSize]) => rawRequest(row, lines.flat().join(crlf) + crlf, chunkSize));
}

/** The row of an operation without input. */
export function rowOf(name: OperationName): RequestParts {
  const { method, path } = routeOf(name);
  return { method, target: path, body: '' };
}

/** Rows of the operations whose name `isChosen`; the input becomes a query or a body. */
function rowsOf(facts: Facts, isChosen: (name: string) => boolean): fc.Arbitrary<RequestParts> {
  const chosen = servedOperations.filter(({ name }) => isChosen(name));
  return fc.oneof(
    ...chosen.map((operation) => {
      const { verb: method, path, target } = operation;
      const id = target === undefined ? fc.constant('') : idsOf(operation, facts)[target];
      return fc
        .tuple(id, fc.constantFrom(...inputsOf(operation, replacedExamples)))
        .map(([id, input]): RequestParts => {
          const withId = path.replace(/\{\w+\}/, id);
          if (input === undefined) return { method, target: withId, body: '' };
          const body = utf8(JSON.stringify(input));
          if (!takesQuery(operation)) return { method, target: withId, body };
          const query = new URLSearchParams(input as Record<string, string>);
          return { method, target: `${withId}?${query}`, body: '' };
        });
    }),
  );
}

/**
 * The ids that an operation may name. A deletion never names the first account or device, nor any
 * operation the first key: requests to the service port use them.
 */
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

/** Restores the snapshot of the facts, unchanged or with one number replaced. */
function snapshots({ snapshot }: Facts): fc.Arbitrary<RequestParts> {
  const numbers = [...snapshot.matchAll(/(?<=:)-?\d+/g)];
  const others = fc.constantFrom(undefined, '0', '-', '9', '1', 'null', '"x"');
  return fc.tuple(fc.constantFrom(...numbers), others).map(([{ 0: number, index }, other]) => {
    const rest = snapshot.slice(index + number.length);
    const body = utf8(`${snapshot.slice(0, index)}${other ?? number}${rest}`);
    return { ...rowOf('snapshots.restore'), body };
  });
}
