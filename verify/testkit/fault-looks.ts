/**
 * Checks that a client can tell the kinds of faults apart. An exchange with a fault must look
 * different from one without, and from one with any kind whose row differs. This finds a transport
 * that ignores a new way to deliver a reply, or delivers it as another kind; and a row that says
 * that a client can read a reply which it cannot read.
 */
import { expect, onTestFinished } from 'vitest';
import {
  type FaultFields,
  type FaultKind,
  type FaultKindName,
  faultKindNames,
  faultKinds,
  isReadable,
} from '#contract/fault-kinds.ts';
import { servicePaths } from '#contract/routes.ts';
import type { FaultInput } from '#src/config/fault-schema.ts';
import { Simulator } from '#src/simulator.ts';
import { parseJson } from './parse-json.ts';
import { closeAfterTest, settings } from './served-fixture.ts';
import { plainSend } from './twin/twin.ts';

/** How late a delayed reply is. Without a delay, one comes in a few milliseconds. */
const lateMs = 500;
/** A timer may be a little early. */
const earlyMs = 20;
/** A reply that has not come after this time counts as one that never comes. */
const withinMs = 10_000;

/** The fields of a fault besides its kind, for the kinds that have some. */
const fields = { delay: { ms: lateMs }, status: { status: 418 } } as const satisfies FaultFields;

/** One fault of each kind, for the first send that has the kind's name as its text. */
export const faults = faultKindNames.map((kind) => {
  const fault = { kind, ...(fields as Partial<Record<FaultKindName, object>>)[kind] } as FaultKind;
  return { match: { text: textOf(kind) }, when: { nth: [1] }, fault };
});

function textOf(name: string): string {
  return `(${name})`;
}

const plainReply = '202 at once, whole at once';

/** Sends a message whose text has this name; a fault may strike it. */
export type Sender = (name: string) => Promise<Response>;

/** Sends by the first account of the simulator. Requests still open after the test are aborted. */
export function senderTo(simulator: Simulator, baseUrl: string, fetch = globalThis.fetch): Sender {
  const afterTest = new AbortController();
  onTestFinished(() => afterTest.abort());
  const [account] = simulator.readyFile().accounts;
  const sent = { ...plainSend, from: account?.sims[0]?.number };
  return (name) =>
    fetch(`${baseUrl}${servicePaths.send}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account?.api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...sent, message: textOf(name), request_id: name }),
      signal: afterTest.signal,
    });
}

export function startWithFaults(inputs: readonly FaultInput[]): Simulator {
  const simulator = new Simulator(settings, { journal: false });
  closeAfterTest(simulator);
  for (const input of inputs) simulator.faults.add(input);
  return simulator;
}

/** What the client sees of one send: when its head and its end come, and what its body is. */
async function seenOf(reply: Promise<Response>): Promise<string> {
  const startMs = performance.now();
  const when = () => (performance.now() - startMs < lateMs - earlyMs ? 'at once' : 'late');
  const look = async () => {
    const { status, body } = await reply;
    const head = `${status} ${when()}`;
    const bytes: Uint8Array[] = [];
    try {
      for await (const chunk of body ?? []) bytes.push(chunk);
    } catch {
      return `${head}, cut ${when()}`;
    }
    const isWhole = typeof parseJson(Buffer.concat(bytes)) === 'object';
    return `${head}, ${isWhole ? 'whole' : 'broken'} ${when()}`;
  };
  const failureLook = ({ cause }: Error) => `failed with ${Object(cause).code} ${when()}`;
  return look().catch(failureLook);
}

/** What a client can see of a kind, by its row. HyperExpress cannot reset: it closes. */
function declaredLook(kind: FaultKindName, place: string): string {
  const { isHandled, reply } = faultKinds[kind];
  return `${isHandled} ${reply === 'reset' && place === 'hyperexpress' ? 'close' : reply}`;
}

/**
 * The kinds that a client cannot tell from another one, or from a reply without a fault, and those
 * that their row calls readable by mistake, or unreadable. `place`: the transport or the recorder
 * that carries out the faults.
 */
export async function mistakesOver(place: string, send: Sender): Promise<string[]> {
  // The first request takes longer, and so do others on a busy machine.
  let sent = 0;
  await expect.poll(() => seenOf(send(`plain ${++sent}`)), { timeout: withinMs }).toBe(plainReply);
  const asked = faultKindNames.map((kind) => ({ kind, end: seenOf(send(kind)) }));
  const ending = asked.filter(({ kind }) => faultKinds[kind].reply !== 'hang');
  const waited = new Promise((resolve) => setTimeout(resolve, withinMs).unref());
  await Promise.race([Promise.all(ending.map(({ end }) => end)), waited]);
  const seen = await Promise.all(asked.map(({ end }) => Promise.race([end, 'open'])));
  const mistakes: string[] = [];
  const kindSeenAs = new Map<string, FaultKindName>();
  for (const [index, kind] of faultKindNames.entries()) {
    const look = seen[index] ?? '';
    // A send under the same `request_id` shows whether the first one was handled.
    const shown = `${look}; then ${(await send(kind)).status}`;
    const other = kindSeenAs.get(shown);
    const isWhole = look.includes(', whole');
    if (isWhole !== isReadable(faultKinds[kind]))
      mistakes.push(
        `${place}: ${kind} looks ${shown}: its row in contract/fault-kinds.ts is wrong`,
      );
    if (look === plainReply) mistakes.push(`${place}: ${kind} looks like no fault`);
    if (other !== undefined && declaredLook(kind, place) !== declaredLook(other, place))
      mistakes.push(`${place}: ${kind} looks like ${other}: ${shown}`);
    kindSeenAs.set(shown, kind);
  }
  return mistakes;
}

/** What a failure of `mistakesOver` says besides. `where`: what carries out the faults. */
export const whatToMend = (where: string) =>
  `mend ${where}, or let seenOf in verify/testkit/fault-looks.ts distinguish what a client sees`;
