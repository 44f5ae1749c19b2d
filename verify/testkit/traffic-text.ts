/** Reads the text of a file of traffic, such as HAR, as `smstwin referee` does. */
import type { NoticeTaker, TrafficExchange } from '#contract/exchange.ts';
import { KnownExchanges } from '#judging/evidence/copies.ts';
import { exchangesOfTraffic, type ReadTraffic } from '#judging/evidence/exchanges-of-traffic.ts';
import { SteadyClocks } from '#judging/evidence/file-clocks.ts';
import { FileReading } from '#judging/evidence/file-reading.ts';
import { listsOfText } from '#judging/evidence/read-traffic.ts';
import { KeyNames } from '#judging/evidence/reading.ts';

/** Reads a text of any kind of traffic file, in pieces of `length` characters. */
export async function readText(
  text: string,
  path = 'run.har',
  onNotice: NoticeTaker = () => {},
  length = text.length,
): Promise<ReadTraffic> {
  const keys = new KeyNames();
  const shared = { keys, clocks: new SteadyClocks(), known: new KnownExchanges(), onNotice };
  const reading = new FileReading(path, shared);
  async function* pieces() {
    for (let at = 0; at < text.length; at += length) yield text.slice(at, at + length);
  }
  const traffic: TrafficExchange[] = [];
  for await (const list of listsOfText(pieces(), reading))
    traffic.push(...list.filter((event) => event !== 'cut'));
  return exchangesOfTraffic(traffic, keys);
}

export async function exchangesOfHar(
  text: string,
  path?: string,
  onNotice?: NoticeTaker,
): Promise<ReadTraffic['exchanges']> {
  return (await readText(text, path, onNotice)).exchanges;
}
