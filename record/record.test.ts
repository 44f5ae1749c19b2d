/** The recording proxy: what passes is unchanged, and the file holds what it should and no more. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { get as httpsGet } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { FaultSpec } from '#contract/fault-kinds.ts';
import { type RecordedLine, readLine } from '#judging/evidence/recorded-line.ts';
import { selfSigned } from '#src/config/self-signed.ts';
import { Simulator } from '#src/simulator.ts';
import { expectFits } from '#verify/testkit/expect-fits.ts';
import { longestRecordedBody } from './passed-exchange.ts';
import { type RecordOptions, startRecording } from './record.ts';
import { RecordingFile } from './recording-file.ts';
import { Secrets } from './secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-record-'));
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

let files = 0;
function newFile(): string {
  return join(folder, `recording-${++files}.ndjson`);
}

async function record(
  upstream: string,
  options: Partial<RecordOptions> = {},
): Promise<Awaited<ReturnType<typeof startRecording>> & { readonly out: string }> {
  const out = options.out ?? newFile();
  const recording = await startRecording({ ...options, upstream: new URL(upstream), out });
  closing.push(() => recording.close());
  return { ...recording, out };
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

function linesOf(file: string): RecordedLine[] {
  const texts = readFileSync(file, 'utf8').trimEnd().split('\n');
  const lines = texts.map((text) => readLine(text) ?? expect.fail(`no line: ${text}`));
  expectFits('schemas/recording.schema.json', lines);
  return lines;
}

async function listening(server: Server | ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that answers each connection with these bytes once it has seen `until`. */
async function rawServer(until: string, reply: string) {
  const seen = { text: '' };
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      seen.text += chunk.toString('latin1');
      if (seen.text.endsWith(until)) socket.end(Buffer.from(reply, 'latin1'));
    });
  });
  return { seen, url: await listening(server) };
}

/** What comes back for these bytes until the connection ends. */
function exchanged(baseUrl: string, request: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve) => {
    let text = '';
    const socket: Socket = connect(Number(port), hostname, () => socket.write(request, 'latin1'));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    // Also after an error, such as a reset.
    socket.on('close', () => resolve(text));
    socket.on('error', () => {});
  });
}

async function simulated(settings = {}) {
  const simulator = new Simulator({ seed: 1, ...settings }, { journal: false });
  closing.push(() => simulator.close());
  const { baseUrl } = await simulator.listen();
  const { api_key: key } = simulator.readyFile().accounts[0] ?? expect.fail('an account');
  const send = (url: string, fields: object) =>
    fetch(`${url}/api/v1/sms/send/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', traceparent },
      body: JSON.stringify({ from: '+12025550101', to: '+12125550150', ...fields }),
    });
  return { simulator, baseUrl, key, send };
}

/** A fault that strikes no request of the tests; the proxy must read each body to know that. */
const ofOneRecipient: FaultSpec = {
  match: { to: '+12125550199' },
  when: { every: 1 },
  fault: { kind: 'hang' },
};

test.each([
  ['without faults', []],
  ['with a fault that matches on the recipient', [ofOneRecipient]],
])('requests and replies pass byte for byte, but for the host, %s', async (_, faults) => {
  const body = '4\r\n{"a"\r\n3\r\n:1}\r\n0\r\nX-Sum: 1\r\n\r\n';
  const request = (host: string) =>
    `POST /api/v1/sms/send/?a=%2b1&a=2 HTTP/1.1\r\nhOsT: ${host}\r\nX-Two: 1\r\nAccept: */*\r\n` +
    `X-Two: 2\r\nauthorization: Bearer secret-key-1234\r\nTrailer: X-Sum\r\n` +
    `Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;
  const reply =
    'HTTP/1.1 202 Taken In\r\nSeRvEr: x\r\nSet-Cookie: a\r\nset-cookie: b\r\nTrailer: X-End\r\n' +
    'X-Latin: \xe9\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n' +
    '5\r\nhello\r\n0\r\nX-End: yes\r\n\r\n';
  const { seen, url } = await rawServer('\r\n\r\n0\r\nX-Sum: 1\r\n\r\n'.slice(-17), reply);
  const { baseUrl } = await record(url, { faults });
  const answered = await exchanged(baseUrl, request('127.0.0.1:8090'));
  expect(answered).toBe(reply);
  expect(seen.text).toBe(request(new URL(url).host));
});

test.each([1, 3])(
  'a body that is %d MiB too long to keep passes whole, with its trailers, past a fault on the recipient',
  async (tooManyMiB) => {
    const got: object[] = [];
    const server = createHttpServer((request, response) => {
      let letters = 0;
      request.on('data', (chunk: Buffer) => {
        letters += chunk.length;
      });
      request.on('end', () => {
        got.push({ letters, trailers: request.rawTrailers });
        response.end('taken');
      });
    });
    const { baseUrl, out } = await record(await listening(server), { faults: [ofOneRecipient] });
    const letters = longestRecordedBody * (1 + tooManyMiB);
    const answered = await exchanged(
      baseUrl,
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTrailer: X-Sum\r\n' +
        `Transfer-Encoding: chunked\r\n\r\n${letters.toString(16)}\r\n${'x'.repeat(letters)}` +
        '\r\n0\r\nX-Sum: 1\r\n\r\n',
    );
    expect(answered).toContain('taken');
    expect(got).toEqual([{ letters, trailers: ['X-Sum', '1'] }]);
    // The line is written when the exchange is over: the client may have its reply before.
    await expect.poll(() => textOf(out)).toContain(`"omitted":${letters}`);
  },
);

test.each([
  'GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n',
  'PATCH / HTTP/1.1\r\nX-A: 1\r\nHost: HOST\r\nConnection: close\r\nX-A: 2\r\n\r\n',
  'DELETE / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
  'GET / HTTP/1.1\r\nConnection: close\r\n\r\n',
])('a request without a body gains nothing: %j', async (request) => {
  const reply = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
  const { seen, url } = await rawServer('\r\n\r\n', reply);
  const { baseUrl } = await record(url);
  expect(await exchanged(baseUrl, request)).toBe(reply);
  expect(seen.text).toBe(request.replace('HOST', new URL(url).host));
});

test('a request of HTTP/1.0 gets the host that 1.1 needs, and its client no chunks', async () => {
  const reply = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
  const { seen, url } = await rawServer('\r\n\r\n', reply);
  const { baseUrl } = await record(url);
  const answered = await exchanged(baseUrl, 'GET / HTTP/1.0\r\nX-A: 1\r\n\r\n');
  expect(answered).toBe('HTTP/1.1 200 OK\r\n\r\nok');
  expect(seen.text).toMatch(/^GET \/ HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\nX-A: 1\r\n/);
});

test('a Trailer without chunks is left out, in both directions, and all else passes', async () => {
  const head = (line: string) => `HTTP/1.1 200 OK\r\n${line}Content-Length: 2\r\n\r\nok`;
  const { seen, url } = await rawServer('\r\n\r\n', head('Trailer: X\r\n'));
  const { baseUrl, out, close } = await record(url);
  const request = 'GET / HTTP/1.1\r\nHost: a\r\ntrailer: X\r\nConnection: close\r\n\r\n';
  expect(await exchanged(baseUrl, request)).toBe(head(''));
  expect(seen.text).not.toContain('trailer');
  await close();
  expect(linesOf(out)).toMatchObject([{ reply: { status: 200, body: 'ok' } }]);
});

test('a reply that Node does not send is 502 for the client, and recorded with the reason', async () => {
  const { url } = await rawServer('\r\n\r\n', 'HTTP/1.1 042 X\r\nContent-Length: 0\r\n\r\n');
  const { baseUrl, out, close } = await record(url);
  const answered = await exchanged(baseUrl, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  expect(answered).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
  await close();
  const failure = 'what came cannot be passed on: ERR_HTTP_INVALID_STATUS_CODE';
  expect(linesOf(out)).toMatchObject([{ failure }]);
  expect(answered).toContain(`smstwin record: ${failure}\n`);
});

test('a fault resets a connection of HTTPS, too', async () => {
  const { baseUrl: upstream } = await simulated();
  const made = await selfSigned(['127.0.0.1'], Date.now());
  const reset: FaultSpec = { match: {}, when: { every: 1 }, fault: { kind: 'reset' } };
  const { baseUrl, out, close } = await record(upstream, { tls: made, faults: [reset] });
  const failed = new Promise<string>((resolve) => {
    const request = httpsGet(baseUrl, { ca: made.ca }, ({ statusCode }) =>
      resolve(`${statusCode}`),
    );
    request.on('error', ({ message }) => resolve(message));
  });
  expect(await failed).toMatch(/hang up|ECONNRESET/);
  await close();
  expect(linesOf(out)).toMatchObject([{ fault: 'reset' }]);
});

test('an exchange whose line cannot be made costs no other its line', async () => {
  const notices: string[] = [];
  const out = newFile();
  const file = new RecordingFile(out, Number.POSITIVE_INFINITY, (line) => notices.push(line));
  // biome-ignore lint/correctness/useYield: it throws before its first slice.
  const broken = function* (): Generator<undefined, object> {
    throw new Error('no line');
  };
  // biome-ignore lint/correctness/useYield: a line of one slice.
  const first = function* (): Generator<undefined, object> {
    return { first: true };
  };
  for (const line of [first, broken, first]) file.add({ bytes: 1, line });
  await file.close();
  expect(readFileSync(out, 'utf8')).toBe('{"first":true}\n'.repeat(2));
  expect(notices).toEqual([
    `${out}: an exchange has no line (Error: no line); traffic goes on, and exchanges are left out`,
    `${out}: 1 exchange not recorded`,
  ]);
});

test('a reply that ends with its connection gets no length, and HEAD no body', async () => {
  const reply = 'HTTP/1.0 200 OK\r\nServer: old\r\n\r\nall of it';
  const { url } = await rawServer('\r\n\r\n', reply);
  const { baseUrl } = await record(url);
  const answered = await exchanged(
    baseUrl,
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  );
  expect(answered).toBe(reply.replace('HTTP/1.0', 'HTTP/1.1'));
});

test('Expect waits for the service, which may refuse', async () => {
  const server = createHttpServer((_, response) => response.end('served'));
  server.on('checkContinue', (request, response) => {
    if (request.url === '/refused') {
      response.writeHead(417, { connection: 'close' }).end();
      return;
    }
    response.writeContinue();
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => response.writeHead(200, { connection: 'close' }).end(`got ${body}`));
  });
  const { baseUrl } = await record(await listening(server));
  const head = (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`;
  expect(await exchanged(baseUrl, head('/refused'))).toMatch(/^HTTP\/1.1 417 /);
  expect(await exchanged(baseUrl, `${head('/taken')}ab`)).toMatch(
    /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK[\s\S]*got ab/,
  );
});

test('a client that leaves is seen to leave, and a broken reply is broken for it', async () => {
  let left = 0;
  const controller = new AbortController();
  const server = createHttpServer((request, response) => {
    if (request.url === '/broken') {
      response.writeHead(200, { 'content-length': 10 });
      response.write('half', () => response.destroy());
      return;
    }
    response.once('close', () => {
      left += 1;
    });
    controller.abort();
  });
  const { baseUrl, out, close } = await record(await listening(server));
  const asked = fetch(`${baseUrl}/slow`, { signal: controller.signal });
  await expect(asked).rejects.toThrow();
  await expect.poll(() => left).toBe(1);
  const half = await fetch(`${baseUrl}/broken`);
  await expect(half.text()).rejects.toThrow();
  await close();
  expect(linesOf(out).map(({ reply, failure }) => [reply, failure])).toEqual([
    [undefined, 'the client closed the connection'],
    [undefined, 'the reply broke off'],
  ]);
});

test('an upstream that cannot be reached is 502, and no reply of the service', async () => {
  const { baseUrl, out, close } = await record('http://127.0.0.1:9');
  expect((await fetch(baseUrl)).status).toBe(502);
  await close();
  expect(linesOf(out)).toMatchObject([{ failure: 'ECONNREFUSED' }]);
  expect(linesOf(out)[0]).not.toHaveProperty('reply');
});

test('a line holds the exchange, digests for key and address, and no key anywhere', async () => {
  const { baseUrl, send, key } = await simulated();
  const { baseUrl: proxy, out, close } = await record(baseUrl);
  const reply = await (await send(proxy, { message: `my key is ${key}`, request_id: 'a' })).text();
  await fetch(`${proxy}/api/v1/account/stats/?api_key=another-secret&x=${key}`);
  await close();
  const text = readFileSync(out, 'utf8');
  expect(text).not.toContain(key);
  expect(text).not.toContain('another-secret');
  const [line, second] = linesOf(out);
  const digest = new Secrets(readFileSync(`${out}.salt`, 'utf8').trim()).credential(
    `Bearer ${key}`,
  );
  expect(digest).toMatch(/^Bearer key:[0-9a-f]{12}$/);
  expect(line).toMatchObject({
    client: expect.stringMatching(/^address:[0-9a-f]{12}$/),
    request: {
      method: 'POST',
      path: '/api/v1/sms/send/',
      headers: { authorization: digest, 'content-type': 'application/json', traceparent },
      body: expect.stringContaining(`my key is ${digest.slice(7)}`),
    },
    reply: { status: 202, headers: { 'content-type': 'application/json' }, body: reply },
  });
  expect(second?.reply?.status).toBe(401);
  expect(statSync(out).mode & 0o777).toBe(0o600);
  expect(statSync(`${out}.salt`).mode & 0o777).toBe(0o600);
});

test('a later recording of the same name continues the file with the same digests', async () => {
  const { baseUrl, send } = await simulated();
  const out = newFile();
  for (const message of ['one', 'two']) {
    const recording = await record(baseUrl, { out });
    await send(recording.baseUrl, { message });
    expect(statSync(out).mode & 0o777).toBe(0o600);
    await recording.close();
    chmodSync(out, 0o644);
  }
  const [one, two] = linesOf(out);
  expect(two?.request.headers['authorization']).toBe(one?.request.headers['authorization']);
  expect(two?.client).toBe(one?.client);
});

test('redaction leaves no number and no text, and equal bodies equal', async () => {
  const { baseUrl, send } = await simulated();
  const { baseUrl: proxy, out, close } = await record(baseUrl, { redact: ['numbers', 'text'] });
  const fields = { message: 'Zoë, call +1 2025550123 or 2025550199 😀', request_id: 'r' };
  await send(proxy, fields);
  await send(proxy, fields);
  await send(proxy, { message: 'not json'.repeat(300) });
  await send(proxy, { to: '12125550150', message: 'x' });
  await close();
  const text = readFileSync(out, 'utf8');
  for (const secret of ['12025550101', '12125550150', '2025550123', '2025550199', 'Zoë', 'call'])
    expect(text).not.toContain(secret);
  const [first, second] = linesOf(out);
  expect(second?.reply?.body).toBe(first?.reply?.body);
  const sent = JSON.parse(first?.request.body ?? '');
  const replied = JSON.parse(first?.reply?.body ?? '');
  expect(sent.to).toBe(replied.to);
  expect(sent.from).toBe(replied.from_number);
  expect([...sent.message].length).toBe([...fields.message].length);
});

test('a file that is full is followed by the next', async () => {
  const { baseUrl, send } = await simulated();
  const { baseUrl: proxy, out, close } = await record(baseUrl, { rotate: 1_800 });
  const texts = () => [out, `${out.slice(0, -7)}-2.ndjson`].map(textOf).join('');
  for (const message of ['one', 'two', 'three', 'four']) {
    await send(proxy, { message });
    // What waits together is written together.
    await expect.poll(texts).toContain(`"message\\":\\"${message}\\"`);
  }
  await close();
  const name = out.slice(folder.length + 1, -'.ndjson'.length);
  const parts = readdirSync(folder).filter((one) => one.startsWith(name) && !one.endsWith('salt'));
  expect(parts.sort()).toEqual([`${name}-2.ndjson`, `${name}.ndjson`]);
  expect(parts.flatMap((part) => linesOf(join(folder, part)))).toHaveLength(4);
});

test('a file that cannot be written costs one line, and no traffic', async () => {
  const { baseUrl, send } = await simulated();
  const notices: string[] = [];
  const own = join(folder, 'removed');
  mkdirSync(own);
  const out = join(own, 'week.ndjson');
  const onNotice = (line: string) => notices.push(line);
  const { baseUrl: proxy, close } = await record(baseUrl, { out, rotate: 1_200, onNotice });
  await send(proxy, { message: 'first' });
  await expect.poll(() => statSync(out).size).toBeGreaterThan(0);
  renameSync(own, `${own}.away`);
  for (const message of ['a'.repeat(900), 'b', 'c'])
    expect((await send(proxy, { message })).status).toBe(202);
  await expect.poll(() => notices.length).toBe(1);
  await close();
  expect(notices).toEqual([
    expect.stringMatching(/-2\.ndjson: cannot be written \(.*\); traffic goes on$/),
    expect.stringMatching(/-2\.ndjson: 3 exchanges not recorded$/),
  ]);
  expect(linesOf(join(`${own}.away`, 'week.ndjson'))).toHaveLength(1);
});

const foreignFiles: [string, (path: string) => void][] = [
  ['a file of another program', (path) => writeFileSync(path, 'precious\n', { mode: 0o644 })],
  ['a link to nothing', (path) => symlinkSync(`${path}.nowhere`, path)],
  ['a link to an empty file', linkTo('')],
  ['a link to a recording', linkTo('{"sent":"')],
  ['a folder', mkdirSync],
  ['a pipe', (path) => void execFileSync('mkfifo', [path])],
  [
    'a hard link to a recording',
    (path) => {
      writeFileSync(`${path}.other`, '{"sent":"');
      linkSync(`${path}.other`, path);
    },
  ],
];

function linkTo(text: string) {
  return (path: string) => {
    writeFileSync(`${path}.target`, text, { mode: 0o644 });
    symlinkSync(`${path}.target`, path);
  };
}

/** What must not change: of a link, what it leads to as well. */
function stateOf(path: string) {
  const { ino, mode, size } = lstatSync(path);
  const target = statSync(path, { throwIfNoEntry: false });
  return { ino, mode, size, target: target && [target.ino, target.mode, target.size] };
}

test.each(foreignFiles)('%s is refused as --out in one line, and stays', async (_, put) => {
  const out = newFile();
  put(out);
  const before = stateOf(out);
  await expect(record('http://127.0.0.1:9', { out })).rejects.toMatchObject({
    exitCode: 2,
    lines: [expect.stringMatching(/^\S+\.ndjson: (?:it is|not) a .*; name another --out$/)],
  });
  expect(stateOf(out)).toEqual(before);
  expect(existsSync(`${out}.salt`)).toBe(false);
});

test.each(foreignFiles)(
  '%s with the name of the next file is left out, and every exchange is recorded',
  async (_, put) => {
    const { baseUrl, send } = await simulated();
    const out = newFile();
    const part = (number: number) => out.replace(/\.ndjson$/, `-${number}.ndjson`);
    put(part(3));
    const before = stateOf(part(3));
    for (const messages of [['1', '2', '3'], ['4']]) {
      const { baseUrl: proxy, close } = await record(baseUrl, { out, rotate: 1 });
      for (const [index, message] of messages.entries()) {
        await send(proxy, { message });
        await expect
          .poll(() => [out, part(2), part(4), part(5)].map(textOf).join('').split('\n').length)
          .toBe(Number(messages[0]) + index + 1);
      }
      await close();
    }
    expect([out, part(2), part(4), part(5)].map((file) => linesOf(file).length)).toEqual([
      1, 1, 1, 1,
    ]);
    expect(stateOf(part(3))).toEqual(before);
  },
);

test('the salt is readable by its owner alone, and an empty one is made anew', async () => {
  const out = newFile();
  writeFileSync(`${out}.salt`, '', { mode: 0o644 });
  await (await record('http://127.0.0.1:9', { out })).close();
  const salt = readFileSync(`${out}.salt`, 'utf8');
  expect(salt).toMatch(/^[0-9a-f]{64}\n$/);
  expect(statSync(`${out}.salt`).mode & 0o777).toBe(0o600);
  chmodSync(`${out}.salt`, 0o644);
  await (await record('http://127.0.0.1:9', { out })).close();
  expect(readFileSync(`${out}.salt`, 'utf8')).toBe(salt);
  expect(statSync(`${out}.salt`).mode & 0o777).toBe(0o600);
});

test.each([
  ...foreignFiles,
  ['a link to a salt', linkTo(`${'a'.repeat(64)}\n`)] as (typeof foreignFiles)[number],
  [
    'a part of a salt',
    (path: string) => writeFileSync(path, 'a'.repeat(63)),
  ] as (typeof foreignFiles)[number],
])('%s as the salt is refused in one line, and stays', async (_, put) => {
  const out = newFile();
  put(`${out}.salt`);
  const before = stateOf(`${out}.salt`);
  await expect(record('http://127.0.0.1:9', { out })).rejects.toMatchObject({
    exitCode: 2,
    lines: [
      expect.stringMatching(/\.salt: (?:it is|not) a .*; move it away, or name another --out$/),
    ],
  });
  expect(stateOf(`${out}.salt`)).toEqual(before);
});

test('a file of somebody else is refused and left as it is', async () => {
  await expect(record('http://127.0.0.1:9', { out: import.meta.filename })).rejects.toThrow(
    /record\.test\.ts: not a recording of smstwin; name another --out$/,
  );
});

test('faults strike exactly the requests that they name, and are marked', async () => {
  const { baseUrl, send, simulator } = await simulated();
  const match = { endpoint: 'send' } as const;
  const {
    baseUrl: proxy,
    out,
    close,
  } = await record(baseUrl, {
    faults: [
      { match, when: { nth: [1] }, fault: { kind: 'refuse' } },
      { match, when: { nth: [2] }, fault: { kind: 'lost_response' } },
      { match, when: { nth: [3] }, fault: { kind: 'status', status: 429 } },
      { match, when: { nth: [4] }, fault: { kind: 'malformed' } },
      { match, when: { nth: [5] }, fault: { kind: 'truncate' } },
      { match, when: { nth: [6] }, fault: { kind: 'reset' } },
      { match: { to: '+12125550151' }, when: { every: 1 }, fault: { kind: 'delay', ms: 60 } },
    ],
  });
  const seen: string[] = [];
  for (const n of [1, 2, 3, 4, 5, 6, 7]) {
    const reply = send(proxy, { message: 'm', request_id: `r${n}` });
    seen.push(
      await reply.then(
        async (one) => {
          const text = await one.text().catch(() => 'cut');
          return `${one.status} ${one.headers.get('retry-after') ?? ''}${text.length}`;
        },
        () => 'broken',
      ),
    );
  }
  const whole = seen[6]?.slice(4);
  const half = Math.floor(Number(whole) / 2);
  expect(seen).toEqual(
    ['broken', 'broken', '429 167', `202 ${half}`, '202 3', 'broken', `202 ${whole}`].map((text) =>
      expect.stringMatching(new RegExp(`^${text}`)),
    ),
  );
  await send(proxy, { message: 'late', to: '+12125550151' });
  await close();
  expect(linesOf(out).map(({ fault, reply }) => [fault, reply?.status])).toEqual([
    ['refuse', undefined],
    ['lost_response', 202],
    ['status', 429],
    ['malformed', 202],
    ['truncate', 202],
    ['reset', undefined],
    [undefined, 202],
    ['delay', 202],
  ]);
  const held = linesOf(out).filter(({ reply }) => reply?.status === 202);
  for (const { reply } of held) expect(JSON.parse(reply?.body ?? '').status).toBe('queued');
  expect(simulator.requests.list()).toHaveLength(5);
});

test.each<FaultSpec['fault']>([{ kind: 'truncate' }, { kind: 'delay', ms: 200 }])(
  'a reply that breaks off under the fault %j ends the exchange',
  async (fault) => {
    const server = createHttpServer((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setTimeout(() => response.destroy(), 50);
    });
    const { baseUrl, out, close } = await record(await listening(server), {
      faults: [{ match: {}, when: { every: 1 }, fault }],
    });
    const signal = AbortSignal.timeout(2_000);
    const asked = fetch(baseUrl, { signal }).then((reply) => reply.text());
    await expect(asked).rejects.not.toHaveProperty('name', 'TimeoutError');
    await close();
    expect(linesOf(out).map(({ failure }) => failure)).toEqual(['the reply broke off']);
  },
);

test('what is in flight at the end is recorded as cut', async () => {
  const notices: string[] = [];
  const { seen, url } = await rawServer('never', '');
  const { baseUrl, out, close } = await record(url, { onNotice: (line) => notices.push(line) });
  const asked = fetch(`${baseUrl}/hang`).catch(() => 'cut');
  const half = exchanged(baseUrl, 'POST /half HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc');
  await expect
    .poll(() => seen.text)
    .toMatch(/GET \/hang[\s\S]*abc$|abc[\s\S]*GET \/hang[\s\S]*\r\n\r\n$/);
  await close();
  expect([await asked, await half]).toEqual(['cut', '']);
  expect(notices).toEqual([]);
  expect(linesOf(out).map(({ failure }) => failure)).toEqual([
    'the recorder stopped',
    'the recorder stopped',
  ]);
});

test('keys are hidden however they are spelled, short ones too', async () => {
  const { url } = await rawServer(
    '}',
    'HTTP/1.1 200 OK\r\nContent-Length: 38\r\n\r\n{"you":"k/y1","api_key":"other-secret"}',
  );
  const { baseUrl, out, close } = await record(url);
  const escaped = String.raw`{"password":"pa\"ss","token":"tok-1","n":"k\u002fy1","key":"order-7"}`;
  await fetch(`${baseUrl}/a/k%2Fy1/?secret=s-e-c&q=k%2fy1&Password=pwd`, {
    method: 'POST',
    headers: { authorization: 'Bearer k/y1' },
    body: escaped,
  }).catch(() => {});
  await close();
  const text = readFileSync(out, 'utf8');
  for (const secret of ['k/y1', 'k%2', 'u002f', 'other-secret', 'pa\\', 'tok-1', 's-e-c', 'pwd'])
    expect(text).not.toContain(secret);
  const [line] = linesOf(out);
  expect(JSON.parse(line?.request.body ?? '')).toMatchObject({
    password: expect.stringMatching(/^key:[0-9a-f]{12}$/),
    n: expect.stringMatching(/^key:[0-9a-f]{12}$/),
  });
});

test('a client that leaves keeps its address', async () => {
  const { seen, url } = await rawServer('never', '');
  const { baseUrl, out, close } = await record(url);
  const controller = new AbortController();
  const left = fetch(`${baseUrl}/slow`, { signal: controller.signal }).catch(() => {});
  await expect.poll(() => seen.text).toContain('GET /slow');
  controller.abort();
  await left;
  await expect.poll(() => textOf(out)).toContain('the client closed the connection');
  await close();
  const salt = readFileSync(`${out}.salt`, 'utf8').trim();
  expect(linesOf(out)[0]?.client).toBe(new Secrets(salt).digest('address', '127.0.0.1'));
});

test('interim replies, long heads and OPTIONS * pass, and a switch of protocols is refused', async () => {
  const long = 'a'.repeat(40_000);
  const reply = `HTTP/1.1 200 OK\r\nX-Long: ${long}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
  const hints =
    'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload; as=style, </b>; rel=preload\r\n\r\n' +
    'HTTP/1.1 103 Odd \xe9\r\nLink: foo\r\nLink: </c>; title="a b"\r\nX-A: 1\r\n\r\n' +
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 150 Other\r\n\r\n';
  const { seen, url } = await rawServer('\r\n\r\n', hints + reply);
  const { baseUrl } = await record(url);
  const ask = (target: string, more = '') =>
    `OPTIONS ${target} HTTP/1.1\r\nHost: a\r\n${more}Connection: close\r\n\r\n`;
  const answered = await exchanged(baseUrl, ask('*'));
  expect(answered).toBe(hints + reply);
  expect(seen.text).toMatch(/^OPTIONS \* HTTP/);
  const other = await rawServer(
    '\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
  );
  const { baseUrl: proxy } = await record(other.url);
  const switching = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
  expect(await exchanged(proxy, switching)).toMatch(/^HTTP\/1\.1 501 [\s\S]*cannot be recorded/);
});
