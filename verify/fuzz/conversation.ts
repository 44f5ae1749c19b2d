/**
 * A conversation is all that happens on one connection: operations that first change the world,
 * whole requests, and perhaps broken requests at the end.
 */
import fc from 'fast-check';
import { broken } from './broken.ts';
import { type Row, worldChanges } from './control-rows.ts';
import type { Facts } from './facts.ts';
import { controlPieces, servicePieces } from './framed.ts';
import { type Bytes, escaped, type Piece, weighted } from './piece.ts';

export interface Conversation {
  readonly port: 'service' | 'control';
  /** Operations that change the world first. */
  readonly changes: readonly Row[];
  /** The whole requests sent on the connection. */
  readonly pieces: readonly Piece[];
  /** The number of requests that are sent before reading replies. */
  readonly pipelined: number;
  /** Broken requests that follow directly, if any. */
  readonly ending: Bytes | undefined;
  /** Whether the client reads the answer to the ending, half-closes, or disconnects at once. */
  readonly leaving: 'waits' | 'half-closes' | 'aborts';
  /** Where the bytes are split into packets. */
  readonly cuts: readonly number[];
}

export function conversations(facts: Facts): fc.Arbitrary<Conversation> {
  const service = conversationOf('service', servicePieces(facts), facts);
  const control = conversationOf('control', controlPieces(facts), facts);
  return weighted<Conversation>([3, service], [1, control]);
}

function conversationOf(
  port: Conversation['port'],
  piece: fc.Arbitrary<Piece>,
  facts: Facts,
): fc.Arbitrary<Conversation> {
  return fc.record({
    port: fc.constant(port),
    changes: fc.array(worldChanges(facts), { maxLength: 3, size: 'max' }),
    pieces: fc.array(piece, { maxLength: 60, size: 'max' }),
    pipelined: fc.constantFrom(1, 2, 7, 60),
    ending: fc.option(
      fc
        .array(broken(piece), { minLength: 1, maxLength: 2, size: 'max' })
        .map((all) => all.join('')),
      { freq: 4, nil: undefined },
    ),
    leaving: weighted<Conversation['leaving']>(
      [4, fc.constant('waits')],
      [1, fc.constantFrom('half-closes', 'aborts')],
    ),
    cuts: weighted<readonly number[]>(
      [3, fc.constant([])],
      [2, fc.array(fc.nat(20_000), { minLength: 1, maxLength: 3, size: 'max' })],
    ),
  });
}

/** The whole conversation as text, to read and to replay. */
export function describe(conversation: Conversation): string {
  const { port, changes, pieces, pipelined, ending, leaving, cuts } = conversation;
  return [
    `on the ${port} port, ${pipelined} at once, cut at ${JSON.stringify(cuts)}, then ${leaving}`,
    ...changes.map((row) => `  first ${row.method} ${row.target} ${row.body}`),
    ...pieces.map(({ bytes }) => `  ${escaped(bytes)}`),
    ...(ending === undefined ? [] : [`  ends on ${escaped(ending)}`]),
  ].join('\n');
}
