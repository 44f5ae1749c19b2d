/**
 * Generated conversations with the service: whichever transport serves them, and whether a journal
 * records them, the replies are the same. `SMSTWIN_RUNS=200` plays 5,000 of them.
 */
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { quoted, type RawRequest, rarely } from '../fuzz/raw-request.ts';
import { gatherFacts } from '../fuzz/served.ts';
import { serviceRequests } from '../fuzz/service-requests.ts';
import { RawSocket } from '../testkit/processes/raw-socket.ts';
import { runs } from '../testkit/runs.ts';
import { newPath, serve } from '../testkit/served-fixture.ts';
import { weighted } from '../testkit/steps/step.ts';
import { kinds } from '../testkit/transport-fixture.ts';

const facts = gatherFacts();
/** What docs/semantics.md says that the two parsers read in different ways. */
const differing = [
  /^transfer-encoding:/im,
  /[\x80-\xff][ \t]*\r$/m,
  /authorization:[\s\S]*\nauthorization:/i,
];
const requests = serviceRequests(facts).filter(({ bytes }) => {
  const [head = ''] = bytes.split('\r\n\r\n');
  return !differing.some((pattern) => pattern.test(`${head}\r`));
});
const conversations = fc.record({
  requests: fc.array(requests, { minLength: 1, maxLength: 8, size: 'max' }),
  pipelined: fc.constantFrom(1, 3, 8),
  cuts: weighted<number[]>(
    [1, fc.constant([])],
    [1, fc.array(fc.nat(20_000), { maxLength: 3, size: 'max' })],
  ),
  /** How far simulated time moves on after each batch. */
  advances: rarely('', 3, fc.constantFrom('1s', '61s', '25h')),
});
type Conversation = typeof conversations extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** The replies to all requests. After one that ends its connection, the rest is sent again. */
async function play(
  port: number,
  { requests, pipelined, cuts }: Conversation,
  advance: () => void,
): Promise<string[]> {
  const replies: string[] = [];
  let socket = await RawSocket.open(port);
  try {
    while (replies.length < requests.length) {
      const batch: RawRequest[] = requests.slice(replies.length, replies.length + pipelined);
      await socket.write(Buffer.from(batch.map(({ bytes }) => bytes).join(''), 'latin1'), cuts);
      for (const { method } of batch) {
        const { status, headers, body } = await socket.reply(method);
        // The native server writes the real date, and its own order of headers.
        const { date: _, ...others } = headers;
        replies.push(JSON.stringify([status, Object.entries(others).sort(), body]));
        if (headers['connection'] !== 'close') continue;
        socket.destroy();
        socket = await RawSocket.open(port);
        break;
      }
      advance();
    }
  } finally {
    socket.destroy();
  }
  return replies;
}

test('both transports, with and without a journal, answer any conversation alike', async () => {
  // By chance, the native server ends the connection of a HEAD request.
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  onTestFinished(() => void vi.restoreAllMocks());
  const servers: (Awaited<ReturnType<typeof serve>> & { readonly name: string })[] = [];
  for (const kind of kinds) {
    for (const options of [{ journal: newPath() }, { journal: false }] as const) {
      const limits = { noLimits: false, limits: { external_send: 5, tasks: 9 } };
      const name = `${kind}${options.journal === false ? '' : ' with a journal'}`;
      servers.push({ name, ...(await serve(options, kind, limits)) });
    }
  }
  const alike = fc.asyncProperty(conversations, async (conversation) => {
    const [first, ...others] = await Promise.all(
      servers.map(({ simulator, port }) => {
        simulator.reset();
        const { advances } = conversation;
        return play(port, conversation, () => {
          if (advances !== '') simulator.clock.advance({ by: advances });
        });
      }),
    );
    const state = servers[0]?.simulator.state();
    for (const [n, replies] of others.entries()) {
      const { name = '', simulator } = servers[n + 1] ?? {};
      expect(replies, name).toEqual(first);
      expect(simulator?.state(), name).toMatchObject({
        messages: state?.messages,
        requests: state?.requests,
      });
    }
  });
  const result = await fc.check(alike, { numRuns: runs(25) });
  const [conversation] = result.counterexample ?? [];
  const text = conversation?.requests.map(({ bytes }) => quoted(bytes)).join('\n');
  if (result.failed) throw new Error(`after:\n${text}`, { cause: result.errorInstance });
  expect(result.numRuns).toBe(runs(25));
}, 7_200_000);
