/** Random conversations: all that a client does on one connection to a fuzzed server. */
import fc from 'fast-check';
import { weighted } from '../testkit/steps/step.ts';
import { broken } from './broken.ts';
import { controlRequests, worldChanges } from './control-rows.ts';
import { quoted, type RawRequest, rarely } from './raw-request.ts';
import type { Expectation } from './reply.ts';
import type { Facts } from './served.ts';
import { serviceRequests } from './service-requests.ts';

export type Port = Expectation['port'];

/** What happens on one connection, and the changes of the world before it. */
export type Conversation =
  ReturnType<typeof conversations> extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** One client in so many does not wait for the last answers. */
const clientsPerLeaver = 5;

export function conversations(facts: Facts) {
  const on = (port: Port, request: fc.Arbitrary<RawRequest>) =>
    fc.record({
      port: fc.constant(port),
      changes: fc.array(worldChanges(facts), { maxLength: 3, size: 'max' }),
      requests: fc.array(request, { maxLength: 60, size: 'max' }),
      /** The number of requests that are sent before reading replies. */
      pipelined: fc.constantFrom(1, 2, 7, 60),
      /** Broken requests that follow directly. */
      ending: fc.array(broken(request), { maxLength: 2, size: 'max' }).map((all) => all.join('')),
      /** Whether the client reads the answer to the ending, half-closes, or disconnects at once. */
      leaving: rarely('waits', clientsPerLeaver, fc.constantFrom('half-closes', 'aborts')),
      /** Where the bytes are split into packets. */
      cuts: rarely<number[]>([], 2, fc.array(fc.nat(20_000), { maxLength: 3, size: 'max' })),
    });
  return weighted(
    [3, on('service', serviceRequests(facts))],
    [1, on('control', controlRequests(facts))],
  );
}

/** The whole conversation as text, to read and to replay. */
export function textOf(conversation: Conversation): string {
  const { port, changes, requests, pipelined, ending, leaving, cuts } = conversation;
  return [
    `on the ${port} port, ${pipelined} at once, cut at ${JSON.stringify(cuts)}, then ${leaving}`,
    ...changes.map((row) => `  first ${row.method} ${row.target} ${row.body}`),
    ...[...requests.map(({ bytes }) => bytes), ending].map((bytes) => `  ${quoted(bytes)}`),
  ].join('\n');
}
