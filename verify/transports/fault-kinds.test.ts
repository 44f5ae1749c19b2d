/**
 * What a client sees of each kind of fault, over every transport and through the recorder: another
 * exchange than without a fault, and than under each kind whose row differs. So a transport that
 * ignores a new way to deliver a reply fails, and so does one that does another kind's act.
 */
import { expect, onTestFinished, test } from 'vitest';
import {
  type FaultFields,
  type FaultKind,
  type FaultKindName,
  faultKindNames,
  faultKinds,
} from '#contract/fault-kinds.ts';
import { servicePaths } from '#contract/routes.ts';
import { startRecording } from '#record/record.ts';
import type { FaultInput } from '#src/config/fault-schema.ts';
import { Simulator } from '#src/simulator.ts';
import { closeAfterTest, newPath, settings } from '../testkit/served-fixture.ts';
import { kinds } from '../testkit/transport-fixture.ts';
import { plainSend } from '../testkit/twin/twin.ts';

/** How late a delayed reply is. Without a delay, one comes in a few milliseconds. */
const lateMs = 500;
/** A timer may be a little early. */
const earlyMs = 20;
/** A reply that should come and did not by then never does. */
const mostMs = 10_000;

/** The other fields of the kinds that have some. */
const fields = { delay: { ms: lateMs }, status: { status: 418 } } as const satisfies FaultFields;

/** Each fault strikes the first send whose text is its name. */
const faults = faultKindNames.map((kind) => {
  const fault = { kind, ...(fields as Partial<Record<FaultKindName, object>>)[kind] } as FaultKind;
  return { match: { text: textOf(kind) }, when: { nth: [1] }, fault };
});

function textOf(name: string): string {
  return `(${name})`;
}

const plainReply = '202 at once, whole at once';

type Send = (name: string) => Promise<Response>;

function senderTo(simulator: Simulator, baseUrl: string, fetch = globalThis.fetch): Send {
  const leaves = new AbortController();
  onTestFinished(() => leaves.abort());
  const [account] = simulator.readyFile().accounts;
  const sent = { ...plainSend, from: account?.sims[0]?.number };
  return (name) =>
    fetch(`${baseUrl}${servicePaths.send}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account?.api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...sent, message: textOf(name), request_id: name }),
      signal: leaves.signal,
    });
}

/** Where faults are seen. A recorder makes them itself. */
const places: Readonly<Record<string, () => Promise<Send>>> = {
  fetch: async () => {
    const simulator = started(faults);
    return senderTo(simulator, 'http://localhost', simulator.fetch);
  },
  ...Object.fromEntries(
    kinds.map((transport) => [
      transport,
      async () => {
        const simulator = started(faults);
        return senderTo(simulator, (await simulator.listen({ transport })).baseUrl);
      },
    ]),
  ),
  recorder: async () => {
    const simulator = started([]);
    const { baseUrl } = await simulator.listen();
    const recorder = await startRecording({ upstream: new URL(baseUrl), out: newPath(), faults });
    onTestFinished(() => recorder.close());
    return senderTo(simulator, recorder.baseUrl);
  },
};

function started(inputs: readonly FaultInput[]): Simulator {
  const simulator = new Simulator(settings, { journal: false });
  closeAfterTest(simulator);
  for (const input of inputs) simulator.faults.add(input);
  return simulator;
}

/** What the client sees of one send: when its head and its end come, and what its body is. */
async function seenOf(reply: Promise<Response>): Promise<string> {
  const startMs = performance.now();
  const when = () => (performance.now() - startMs < lateMs - earlyMs ? 'at once' : 'late');
  const ends = async () => {
    const { status, body } = await reply;
    const head = `${status} ${when()}`;
    const bytes: Uint8Array[] = [];
    try {
      for await (const chunk of body ?? []) bytes.push(chunk);
    } catch {
      return `${head}, cut ${when()}`;
    }
    return `${head}, ${isJson(Buffer.concat(bytes)) ? 'whole' : 'broken'} ${when()}`;
  };
  const fails = ({ cause }: Error) => `failed with ${Object(cause).code} ${when()}`;
  return ends().catch(fails);
}

function isJson(bytes: Buffer): boolean {
  try {
    return typeof JSON.parse(bytes.toString()) === 'object';
  } catch {
    return false;
  }
}

/** What tells a kind from others, by its row. The native server cannot reset: it closes. */
function declared(kind: FaultKindName, place: string): string {
  const { isHandled, reply } = faultKinds[kind];
  return `${isHandled} ${reply === 'reset' && place === 'hyperexpress' ? 'close' : reply}`;
}

/** The kinds that a client does not tell from another one, or from a reply without a fault. */
async function alikeOver(place: string, send: Send): Promise<string[]> {
  const asked = faultKindNames.map((kind) => ({ kind, end: seenOf(send(kind)) }));
  const ending = asked.filter(({ kind }) => faultKinds[kind].reply !== 'hang');
  const waited = new Promise((resolve) => setTimeout(resolve, mostMs).unref());
  await Promise.race([Promise.all(ending.map(({ end }) => end)), waited]);
  const seen = await Promise.all(asked.map(({ end }) => Promise.race([end, 'open'])));
  const alike: string[] = [];
  const kindSeenAs = new Map<string, FaultKindName>();
  for (const [index, kind] of faultKindNames.entries()) {
    // A send under the same `request_id` shows whether the first one was handled.
    const shown = `${seen[index]}; then ${(await send(kind)).status}`;
    const other = kindSeenAs.get(shown);
    if (seen[index] === plainReply) alike.push(`${place}: ${kind} looks like no fault`);
    if (other !== undefined && declared(kind, place) !== declared(other, place))
      alike.push(`${place}: ${kind} looks like ${other}: ${shown}`);
    kindSeenAs.set(shown, kind);
  }
  return alike;
}

test('each kind of fault shows as no other, over each transport and the recorder', async () => {
  const sends: [string, Send][] = [];
  for (const [place, open] of Object.entries(places)) {
    const send = await open();
    // The first request takes longer.
    await seenOf(send('first'));
    expect(await seenOf(send('plain')), place).toBe(plainReply);
    sends.push([place, send]);
  }
  const alike = await Promise.all(sends.map(([place, send]) => alikeOver(place, send)));
  const mend = 'mend src/http/transport/answers.ts and its outlets, or record/proxied-exchange.ts';
  expect(alike.flat(), mend).toEqual([]);
});
