/** How `conform` and `record` go through the proxy that the environment names. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { conform } from '#conformance/main.ts';
import { Client } from '#conformance/target/client.ts';
import { Masks } from '#conformance/target/masks.ts';
import { startRecording } from '#record/record.ts';
import { selfSigned } from '#src/config/self-signed.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-way-'));
afterAll(() => rmSync(folder, { recursive: true }));
const closing: (() => unknown)[] = [];
beforeEach(() => {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'])
    for (const spelling of [name, name.toLowerCase()]) vi.stubEnv(spelling, undefined);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of closing.splice(0).reverse()) await close();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A proxy that passes everything to this port, and notes what it is asked for and by whom. */
async function proxyTo(port: number, refusal?: number, tls?: ServerOptions) {
  const seen: string[] = [];
  const note = ({ method, url, headers }: IncomingMessage) =>
    seen.push([method, url, headers['proxy-authorization'] ?? ''].join(' ').trimEnd());
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('request', (incoming, response) => {
    note(incoming);
    if (refusal !== undefined) {
      response.writeHead(refusal).end();
      return;
    }
    const { method, headers, url = '' } = incoming;
    const path = URL.canParse(url) ? new URL(url).pathname : url;
    const outgoing = request({ port, method, path, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 0, reply.headers);
      reply.pipe(response);
    });
    incoming.pipe(outgoing);
  });
  server.on('connect', (incoming: IncomingMessage, socket: Duplex) => {
    note(incoming);
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const through = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      socket.pipe(through).pipe(socket);
    });
    for (const one of [socket, through]) one.on('error', () => {});
  });
  return { seen, port: await listening(server) };
}

const upstream = (incoming: IncomingMessage, response: { end(text: string): void }) =>
  response.end(`got ${incoming.method} ${incoming.url} of ${incoming.headers.host}`);

async function ask(baseUrl: string, path = '/a') {
  const client = new Client({ baseUrl, timeoutMs: 20_000, masks: new Masks(), retries: false });
  closing.push(() => client.close());
  return client.request({ method: 'GET', path });
}

/** A recording of one request, and what the client got. */
async function recorded(url: string) {
  const out = join(folder, `${closing.length}-${Math.abs(url.length)}-${performance.now()}.ndjson`);
  const recording = await startRecording({ upstream: new URL(url), out });
  const text = await (await fetch(`${recording.baseUrl}/a`, { method: 'POST' })).text();
  await recording.close();
  return { text, line: readFileSync(out, 'utf8') };
}

test('a service of HTTP is asked for by its whole URL, by conform and by record', async () => {
  const proxy = await proxyTo(await listening(createServer(upstream)));
  vi.stubEnv('HTTP_PROXY', `http://us%40er:pass@127.0.0.1:${proxy.port}`);
  expect((await ask('http://sms.example.test:81/base')).text).toBe(
    'got GET /base/a of sms.example.test:81',
  );
  const { text, line } = await recorded('http://sms.example.test');
  expect(text).toBe('got POST /a of sms.example.test');
  const user = `Basic ${Buffer.from('us@er:pass').toString('base64')}`;
  expect(proxy.seen).toEqual([
    `GET http://sms.example.test:81/base/a ${user}`,
    `POST http://sms.example.test/a ${user}`,
  ]);
  expect(line).not.toMatch(/pass|er:|Basic/);
});

test('a service of HTTPS gets a tunnel, by conform and by record', async () => {
  const { cert, key, ca } = await selfSigned(['sms.example.test'], Date.now());
  const proxy = await proxyTo(await listening(createTlsServer({ cert, key }, upstream)));
  vi.stubEnv('https_proxy', `127.0.0.1:${proxy.port}`);
  vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:9');
  const refused =
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE: name the file of the authority that signed its certificate in NODE_EXTRA_CA_CERTS';
  expect((await ask('https://sms.example.test')).failure).toBe(refused);
  const { text, line } = await recorded('https://sms.example.test:444');
  expect(text).toContain(refused);
  expect(line).toContain(refused);
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  expect((await ask('https://sms.example.test')).text).toBe('got GET /a of sms.example.test');
  expect((await recorded('https://[2001:db8::1]')).text).toBe('got POST /a of [2001:db8::1]');
  expect(proxy.seen).toEqual([
    'CONNECT sms.example.test:443',
    'CONNECT sms.example.test:444',
    'CONNECT sms.example.test:443',
    'CONNECT [2001:db8::1]:443',
  ]);
  expect(ca).toContain('CERTIFICATE');
});

test('a proxy may be one of HTTPS, whose certificate has its own name', async () => {
  const { cert, key } = await selfSigned(['localhost', 'sms.example.test'], Date.now());
  const names: unknown[] = [];
  const SNICallback = (name: string, done: (error: null) => void) => {
    names.push(name);
    done(null);
  };
  const tls = { cert, key, SNICallback };
  const http = await listening(createServer(upstream));
  const plain = await proxyTo(http, undefined, tls);
  const https = await listening(createTlsServer({ cert, key }, upstream));
  const secure = await proxyTo(https, undefined, tls);
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  vi.stubEnv('HTTP_PROXY', `https://localhost:${plain.port}`);
  vi.stubEnv('HTTPS_PROXY', `https://localhost:${secure.port}`);
  expect((await ask('http://sms.example.test')).text).toBe('got GET /a of sms.example.test');
  expect((await ask('https://sms.example.test')).text).toBe('got GET /a of sms.example.test');
  expect((await recorded('https://sms.example.test')).text).toContain('got POST');
  expect(names).toEqual(['localhost', 'localhost', 'localhost']);
});

test('conform ends with 3 and a line that names the variable of a wrong proxy', async () => {
  vi.stubEnv('HTTPS_PROXY', 'http://user:secret@127.0.0.1:9');
  let said = '';
  const say = (text: string) => {
    said += text;
  };
  const report = join(folder, 'report.json');
  const argv = ['https://sms.example.test', '--report', `json=${report}`, 'AUTH-1'];
  expect(await conform(argv, { out: say, error: say })).toBe(3);
  expect(said).toContain(
    'https://sms.example.test is not reachable: ECONNREFUSED (through the proxy of HTTPS_PROXY); start it, or name another address',
  );
  expect(said + readFileSync(report, 'utf8')).not.toContain('secret');
});

test.each([
  ['https', 'HTTPS_PROXY', 502, 'it answered 502 to CONNECT'],
  ['https', 'ALL_PROXY', 407, 'it answered 407 to CONNECT'],
  ['http', 'http_proxy', 407, 'it answered 407'],
])(
  'what is wrong with the proxy names its variable: %s %s %i',
  async (scheme, name, status, why) => {
    const proxy = await proxyTo(9, status);
    vi.stubEnv(name, `http://user:secret@127.0.0.1:${proxy.port}`);
    const failure = `${why} (through the proxy of ${name})`;
    expect(await ask(`${scheme}://sms.example.test`)).toMatchObject({ status: 0, failure });
    const { text, line } = await recorded(`${scheme}://sms.example.test`);
    expect(text).toMatch(/^smstwin record: /);
    expect(line).toContain(failure);
    expect(text + line).not.toMatch(/secret|dXNlc/);
  },
);

test('a proxy that does not listen is named', async () => {
  vi.stubEnv('HTTPS_PROXY', 'http://user:secret@127.0.0.1:9');
  expect((await ask('https://sms.example.test')).failure).toBe(
    'ECONNREFUSED (through the proxy of HTTPS_PROXY)',
  );
});
