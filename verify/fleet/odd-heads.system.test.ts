/**
 * Odd heads, sent to one process and to two fleets, one with narrow worlds and one with a wide
 * world: replies and counts must be equal. HAProxy decides by the head which shard a request
 * reaches, so it must read in it what the shard reads. SMSTWIN_SEED: the seed of the random heads.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Rng } from '#src/sim/random.ts';
import { RawSocket } from '../testkit/processes/raw-socket.ts';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { bearer, sendPaths } from '../testkit/twin/request.ts';
import { wideWorld } from './fleet-fixture.ts';

interface Target {
  readonly served: ServedProcess;
  /** The ids of the created worlds, which differ between the targets. */
  readonly worldIds: readonly string[];
}

/** What a request is made of. `{0}` to `{3}` stand for the ids of the created worlds. */
interface Head {
  readonly method: string;
  readonly path: string;
  /** The lines before those about the body. */
  readonly lines: readonly string[];
  readonly requestId?: string;
}

const folder = mkdtempSync(join(tmpdir(), 'smstwin-heads-'));
/** The key of each world that is created. */
const worldKeys = ['of-world-0', 'of-world-1', 'of-world-2', 'of-world-3'];
const seed = Number(process.env['SMSTWIN_SEED'] ?? 1);
let targets: readonly Target[] = [];

const hosts = Object.values({
  severalInOne: [
    'a, b.localhost',
    'b.localhost, a',
    '{2}.localhost, x',
    'x, {2}.localhost',
    '{3}.localhost,{2}.localhost',
    'default.localhost, {1}.localhost',
  ],
  otherSpelling: ['{2}.LOCALHOST', '{2}.world.localhost', '{2}.localhost.', '{2}'],
  withPort: ['{1}.localhost:80', '{1}.localhost:123456', 'DEFAULT.world.localhost:80'],
  withSpaces: [' \t{2}.localhost \t', '{2} .localhost', 'a b'],
  notAscii: ['{2}.localhost\u00e9', '\u00e9{2}.localhost'],
  notAHost: ['u@{2}.localhost', 'http://{2}.localhost', '"{2}.localhost"', '', '{2}..localhost'],
  firstWorld: ['default.localhost', 'default.localhost.example', '[::1]'],
  noWorld: ['defaultx.localhost', 'nowhere.localhost', '.localhost'],
}).flat();
const { send } = sendPaths;
const paths = Object.values({
  ofAWorld: [`/w/{1}${send}`, `/w/{1}/${send}`, '/w/{1}', '/w/{1}/'],
  ofTwoWorlds: [`/w/{1}/w/{2}${send}`, `/w/default//w/{1}${send}`, `/w/{1}?x=/w/{2}`],
  otherSpelling: [`/w//{1}${send}`, `//w/{1}${send}`, `/W/{1}${send}`, `/%77/{1}${send}`],
  dotsAndEscapes: [`/x/../w/{1}${send}`, `/./w/{1}${send}`, `/w/{1}%2f${send}`],
  withoutWorld: ['/w/', '/w', `/w/nowhere${send}`],
  firstWorld: ['/w/default', `/w/default${send}`, `/w/DEFAULT${send}`, `/w/default;x${send}`],
  onlyInTheQuery: [`${send}?/w/{1}/`],
  nearTheService: ['/api//v1/sms/send/', '/api/v1/sms/send'],
}).flat();
const spellings: readonly ((key: string) => string)[] = [
  bearer,
  (key) => `bEARER   ${key}`,
  (key) => `Bearer\t${key}`,
  (key) => `Bearer \t ${key}\t `,
  (key) => `Bearer ${key}\u00e9`,
  (key) => `Bearer ${key} \u00e9\t\u00e9`,
  (key) => `Bearer \u00e9${key}`,
  (key) => `\u00e9 \u00e9Bearer ${key}`,
  (key) => `Bearer ${key}\u007f`,
  (key) => `Bearer ${key},x`,
  (key) => `Bearer x, Bearer ${key}`,
  (key) => `Bearer ${key}, Bearer x`,
  (key) => `Bearer ${key} x`,
  (key) => `Bearer Bearer ${key}`,
  (key) => `Bearer ${key.toUpperCase()}`,
  (key) => `Bearer${key}`,
  (key) => `Basic ${key}`,
  (key) => key,
  () => 'Bearer',
  () => '\u00e9',
];
const forwarded = ['192.0.2.7', '192.0.2.7, 192.0.2.8', '', ' ,', '::1', 'unknown', '"x"'];

beforeAll(async () => {
  const world = join(folder, 'world.json');
  writeFileSync(world, JSON.stringify(wideWorld));
  const one = ['--clock', 'manual', '--start-time', '2026-01-01T00:00:00.000Z', '--world', world];
  const narrow = [...one, '--shards', '3'];
  targets = await Promise.all([
    withWorlds(ServedProcess.start(folder, one)),
    withWorlds(ServedProcess.startFleet(folder, narrow)),
    withWorlds(ServedProcess.startFleet(folder, [...narrow, '--wide'])),
  ]);
});
afterAll(async () => {
  await Promise.all(targets.map(({ served }) => served.stop()));
  rmSync(folder, { recursive: true, force: true });
});

async function withWorlds(starting: Promise<ServedProcess>): Promise<Target> {
  const served = await starting;
  const worldIds: string[] = [];
  for (const key of worldKeys) {
    const sims = [{ number: '+12025550171' }];
    const world = { accounts: [{ name: 'a', keys: [{ name: 'k', key }], sims }] };
    const body = JSON.stringify({ name: key, world });
    const made = await fetch(`${served.controlUrl}/control/worlds`, { method: 'POST', body });
    worldIds.push(((await made.json()) as { world_id: string }).world_id);
  }
  return { served, worldIds };
}

test('odd heads have the replies and counts of one process, narrow and wide', async () => {
  for (const [number, key] of firstKeys().slice(0, 3).entries()) {
    const heads = oddHeads(key).map((head, n) => ({ ...head, requestId: `odd-${n % 20}` }));
    expect(heads.length).toBeGreaterThan(40);
    expect([number, await differencesOf(heads)]).toEqual([number, []]);
  }
});

test(`seed ${seed}: heads of such pieces have the replies and counts of one process`, async () => {
  const chance = Rng.stream(seed, 'heads');
  const keys = [...firstKeys(), ...worldKeys, ...worldKeys, 'wrong', 'other'];
  const heads = Array.from({ length: 500 }, () => randomHead(chance, keys));
  expect(await differencesOf(heads)).toEqual([]);
});

function firstKeys(): readonly string[] {
  return (targets[0]?.served.ready.accounts ?? []).map(({ api_key: key }) => key);
}

/** Sends each head to all targets, then reads what they have counted. */
async function differencesOf(heads: readonly Head[]): Promise<readonly object[]> {
  const differences: object[] = [];
  for (const head of heads) {
    const replies = await Promise.all(targets.map((target) => replyOf(target, head)));
    const [ofOne = ''] = replies;
    if (replies.some((reply) => reply !== ofOne)) differences.push({ head, replies });
  }
  const counts = await Promise.all(targets.map(countsOf));
  const [ofOne] = counts;
  if (counts.some((count) => count !== ofOne)) differences.push(counts);
  return differences;
}

async function replyOf(target: Target, head: Head): Promise<string> {
  const { method, path, lines, requestId } = head;
  const key = lines.find((line) => line.includes('of-world')) === undefined ? 'first' : 'created';
  const from = key === 'created' ? '+12025550171' : '+12025550190';
  const fields = { to: '+12025550123', from, message: 'Hi', request_id: requestId };
  const body = JSON.stringify(fields);
  const ofBody = ['Content-Type: application/json', `Content-Length: ${body.length}`, '', body];
  const text = [`${method} ${path} HTTP/1.1`, ...lines, ...ofBody].join('\r\n');
  const socket = await RawSocket.open(Number(new URL(target.served.baseUrl).port));
  try {
    const named = text.replace(/\{(\d)\}/g, (_, n) => target.worldIds[Number(n)] ?? '');
    await socket.write(Buffer.from(named, 'latin1'));
    const { status, headers, body: reply } = await socket.reply(method);
    // The words of a parser are its own: that of HAProxy answers some heads by itself.
    if (reply.startsWith('<')) return `${status}`;
    return anonymous(target, `${status} ${headers['retry-after']} ${headers['location']} ${reply}`);
  } finally {
    socket.destroy();
  }
}

/** The limits, accounts and state of each world. */
async function countsOf(target: Target): Promise<string> {
  const counts: object[] = [];
  for (const prefix of ['', ...target.worldIds.map((id) => `/w/${id}`)]) {
    const read = async (path: string) =>
      (await fetch(`${target.served.controlUrl}${prefix}/control/${path}`)).json();
    const { sound, broken } = (await read('invariants')) as { sound: boolean; broken: object };
    const { messages, throttled } = (await read('state')) as Record<string, unknown>;
    const buckets = await read('limits/buckets');
    counts.push({ sound, broken, messages, throttled, buckets });
  }
  return anonymous(target, JSON.stringify(counts, undefined, 1));
}

/** The text with `{0}` to `{3}` in place of the ids of worlds. */
function anonymous({ worldIds }: Target, text: string): string {
  return worldIds.reduce((replaced, id, n) => replaced.replaceAll(id, `{${n}}`), text);
}

/** Heads that name the caller and the world in unusual ways. `key`: of the first world. */
function oddHeads(key: string): readonly Head[] {
  const auth = `Authorization: Bearer ${key}`;
  const ofWorld = (n: number) => `Authorization: Bearer ${worldKeys[n]}`;
  const host = 'Host: sms.example.com';
  const post = (path: string, ...lines: string[]): Head => ({ method: 'POST', path, lines });
  return [
    ...hosts.map((name) => post(send, `Host: ${name}`, auth)),
    ...hosts.map((name) => post(send, `Host: ${name}`, ofWorld(2))),
    ...paths.map((path) => post(path, host, ofWorld(1))),
    ...paths.map((path) => post(path, host, auth)),
    ...spellings.map((spell) => post(send, host, `Authorization: ${spell(key)}`)),
    ...spellings.map((spell) => post(send, host, `Authorization: ${spell('of-world-3')}`)),
    post(send, host, auth, auth),
    post(send, host, auth, ofWorld(0)),
    post(send, host, ofWorld(0), auth),
    post(send, host, auth, 'Authorization:'),
    post(send, host, auth, ofWorld(1), auth),
    post(send, host, `${auth}\u00e9`, `${auth}\u00e9\u00e9`),
    post(send, host, auth, ofWorld(0), auth),
    post(send, host),
    post(send, auth),
    post(send, 'Host: {0}.localhost', 'Host: {1}.localhost', ofWorld(0)),
    post(send, `${host} `, `authorization:bearer ${key}`, 'X-Forwarded-For: 192.0.2.7'),
    post(send, host, 'Authorization: Bearer wrong', 'X-Forwarded-For: 192.0.2.7, 192.0.2.8'),
    ...[8_000, 15_872, 16_000, 17_000, 40_000].map((length) =>
      post(send, host, auth, `X-Long: ${'x'.repeat(length)}`),
    ),
    ...[90, 110, 120, 500].map((count) =>
      post(send, host, auth, ...Array.from({ length: count }, (_, n) => `X-${n}: y`)),
    ),
    ...['get', 'FOO', 'HEAD', 'OPTIONS', 'PUT'].map((method) => ({
      ...post(send, host, auth),
      method,
    })),
  ];
}

/** Heads made of the same pieces as the odd ones, put together by chance. */
function randomHead(chance: Rng, keys: readonly string[]): Head {
  const one = <T>(list: readonly T[]): T => list[chance.below(list.length)] as T;
  const isSend = chance.below(3) > 0;
  const usualPath = isSend ? send : '/api/v1/account/stats/';
  const usual = chance.below(3);
  const authorizations = Array.from({ length: one([0, 1, 1, 1, 1, 2, 3]) }, () => {
    const spell = chance.below(2) === 0 ? bearer : one(spellings);
    return `Authorization: ${spell(one(keys))}`;
  });
  return {
    method: isSend ? 'POST' : 'GET',
    path: usual === 0 ? one(paths) : usualPath,
    lines: [
      `Host: ${usual === 1 ? one(hosts) : 'sms.example.com'}`,
      ...authorizations,
      ...(chance.below(4) === 0 ? [`X-Forwarded-For: ${one(forwarded)}`] : []),
    ],
    requestId: `r${chance.below(40)}`,
  };
}
