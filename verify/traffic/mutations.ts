/**
 * `npx tsx verify/traffic/mutations.ts [count] [seed] [from] [to]`: judges the traffic of sound
 * services, mutated at random, and complains of every rule that fails. Sound services are the
 * simulator under each switched assumption, and the foreign server in each variation; `from` and `to`
 * choose some by their place.
 */
import { fileURLToPath } from 'node:url';
import type { TrafficExchange } from '../../src/commands/recorded-traffic.ts';
import { variations } from '../foreign/variation.ts';
import { singles } from '../harness/judge.ts';
import { joinedIn, judge } from './judge.ts';
import { drive, foreignPlace, type Place, randomFrom, randomSeed, simulatedPlace } from './load.ts';

type Random = () => number;

interface Mutation {
  readonly name: string;
  readonly exchanges: readonly TrafficExchange[];
  /** False if lines are missing in the midst. */
  readonly mayBeComplete: boolean;
}

/** Some of: both ends cut off, a third or some bodies removed, overlapping lines shuffled, the clock skewed. */
export function mutated(whole: readonly TrafficExchange[], random: Random): Mutation {
  let exchanges = [...whole];
  const names: string[] = [];
  const chosen = (name: string) => {
    const isChosen = random() < 0.6;
    if (isChosen) names.push(name);
    return isChosen;
  };
  if (chosen('cut')) {
    const [from, to] = [random(), random()].toSorted();
    exchanges = exchanges.slice(
      Math.floor((from ?? 0) * exchanges.length),
      Math.ceil((to ?? 1) * exchanges.length),
    );
  }
  const isThinned = chosen('thinned');
  if (isThinned) exchanges = exchanges.filter(() => random() > 1 / 3);
  if (chosen('bodiless'))
    exchanges = exchanges.map((one) =>
      one.reply === undefined || random() > 0.1
        ? one
        : { ...one, reply: { ...one.reply, body: undefined } },
    );
  if (chosen('skewed')) {
    // Set once, somewhere in the midst, or wrong from the start.
    const from = random() < 0.3 ? 0 : Math.floor(random() * exchanges.length);
    const by = random() < 0.5 ? -2_000 : 2_000;
    exchanges = exchanges.map((one, at) =>
      at < from ? one : { ...one, sentAt: one.sentAt + by, answeredAt: one.answeredAt + by },
    );
  }
  if (chosen('shuffled'))
    for (let at = 1; at < exchanges.length; at++) {
      const [one, other] = [exchanges[at - 1], exchanges[at]];
      const isTogether = one && other && other.sentAt <= one.answeredAt;
      if (isTogether && random() < 0.5) [exchanges[at - 1], exchanges[at]] = [other, one];
    }
  return { name: names.join(', '), exchanges, mayBeComplete: !isThinned };
}

/** Traffic of one sound service, and which of its keys belong together. */
export interface Sound {
  readonly name: string;
  readonly exchanges: readonly TrafficExchange[];
  readonly joined: readonly (readonly string[])[];
}

function soundOf(name: string, place: Place, random: Random): Sound {
  return { name, exchanges: drive(place, random), joined: joinedIn(place) };
}

export async function soundSimulator(assumptions: object, random: Random): Promise<Sound> {
  const place = await simulatedPlace(assumptions);
  try {
    return soundOf(`simulator ${JSON.stringify(assumptions)}`, place, random);
  } finally {
    await place.close();
  }
}

export function soundForeigner(name: string, random: Random): Sound {
  return soundOf(`foreign ${name}`, foreignPlace(variations[name] ?? {}), random);
}

/** What fails although the service is sound. */
export function accusations({ name, exchanges, joined }: Sound, random: Random): string[] {
  const mutation = mutated(exchanges, random);
  const isComplete = mutation.mayBeComplete && random() < 0.7;
  const known = random() < 0.5 ? joined : [];
  const { complaints } = judge(mutation.exchanges, { isComplete, joined: known });
  return complaints.map(
    (one) => `${name} (${mutation.name}${isComplete ? ', complete' : ''}): ${one}`,
  );
}

async function main(count: number, seed: number, from: number, to: number): Promise<number> {
  const rows = [{}, ...singles()];
  const names = Object.keys(variations);
  const services = rows.length + names.length;
  const each = Math.ceil(count / services);
  let tried = 0;
  const wrong: string[] = [];
  for (let at = from; at < Math.min(to, services); at++) {
    const row = rows[at];
    const random = randomFrom(seed + at);
    const sound =
      row === undefined
        ? soundForeigner(names[at - rows.length] ?? '', random)
        : await soundSimulator(row, random);
    const plain = judge(sound.exchanges, { isComplete: true, joined: sound.joined });
    const found = plain.complaints.map((one) => `${sound.name}: ${one}`);
    for (let one = 0; one < each; one++, tried++) found.push(...accusations(sound, random));
    for (const line of found) process.stdout.write(`${line}\n`);
    wrong.push(...found);
  }
  process.stdout.write(
    `${tried} mutations, ${each} of each of ${services} sound services, seed ${seed}: ${wrong.length} accusations\n`,
  );
  return wrong.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [count = 1000, seed = randomSeed(), from = 0, to = Number.POSITIVE_INFINITY] = process.argv
    .slice(2)
    .map(Number);
  process.exitCode = await main(count, seed, from, to);
}
