/**
 * Odd heads from clients and from the service: the recorder stays alive, serves all others, and
 * records each exchange that reached it. `SMSTWIN_RUNS=10` tries 5,000 from each side.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, createServer as createHttpServer, request } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { workOn } from '#io/event-loop.ts';
import { type RecordedLine, readLine } from '#judging/evidence/recorded-line.ts';
import { bin } from '#verify/testkit/processes/program.ts';
import { runs, seed } from '#verify/testkit/runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-heads-'));
afterAll(() => rmSync(folder, { recursive: true }));

const atOnce = 16;
/** How many odd heads a neighbour's request follows. */
const neighbourEvery = 10;

/** A `smstwin record` process in front of this upstream. */
async function recorder(upstream: Server, name: string) {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as AddressInfo;
  const out = join(folder, `${name}.ndjson`);
  const flags = ['--upstream', `http://127.0.0.1:${port}`, '--out', out, '--port', '0'];
  const child = spawn(process.execPath, [bin, 'record', ...flags]);
  const said = { out: '', error: '' };
  child.stdout.on('data', (text) => {
    said.out += text;
  });
  child.stderr.on('data', (text) => {
    said.error += text;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  await expect.poll(() => said.out + said.error).toMatch(/^Recording /);
  const own = Number(/127\.0\.0\.1:(\d+)/.exec(said.out)?.[1]);
  const stop = async () => {
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(said.error).toBe('');
    upstream.close();
    const lines = readFileSync(out, 'utf8').trimEnd().split('\n');
    return lines.map((text) => readLine(text) ?? expect.fail(`no line: ${text}`));
  };
  return { port: own, stop };
}

/** What comes back for these bytes until the connection ends. */
function exchanged(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes, 'latin1');
      // Node ignores what follows a request for an upgrade, so the connection would stay idle.
      if (/upgrade, x/.test(bytes)) socket.end();
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    // A recorder that died refuses connections; what was recorded shows it.
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
}

/** Sends each of them, and one ordinary request after every few; returns what came back. */
async function tried(port: number, items: readonly string[]): Promise<string[]> {
  const answers: string[] = [];
  const agent = new Agent({ keepAlive: true });
  const neighbour = (index: number) =>
    new Promise<string>((resolve, reject) => {
      const path = `/neighbour/${index}`;
      request({ port, agent, path }, (reply) => {
        let text = `${reply.statusCode} `;
        reply.on('data', (chunk) => {
          text += chunk;
        });
        reply.on('end', () => resolve(text));
      })
        .on('error', reject)
        .end();
    });
  await workOn(items.entries(), atOnce, async ([index, item]) => {
    answers[index] = await exchanged(port, item);
    if (index % neighbourEvery === 0) expect(await neighbour(index)).toBe(`200 neighbour ${index}`);
  });
  agent.destroy();
  return answers;
}

/** The lines of each number in `/odd/N`. */
function byNumber(lines: readonly RecordedLine[]): Map<number, RecordedLine[]> {
  const found = new Map<number, RecordedLine[]>();
  for (const line of lines) {
    const [, number] = /\/odd\/(\d+)/.exec(line.request.path) ?? [];
    if (number !== undefined)
      found.set(Number(number), [...(found.get(Number(number)) ?? []), line]);
  }
  return found;
}

const oddByte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
const oddText = fc
  .oneof(
    {
      arbitrary: fc.constantFrom('X', 'a b', '\xe9\xff', '\x7f', '\x01', '\t', '', 'é', '"', '%'),
      weight: 4,
    },
    { arbitrary: fc.string({ unit: oddByte, maxLength: 6 }), weight: 1 },
  )
  .map((text) => text.replace(/[\r\n]/g, ''));
const oddName = fc.oneof(
  fc.constantFrom(
    'X-A',
    'x_b',
    "!#$%&'*+-.^`|~",
    '__proto__',
    'constructor',
    'Host',
    'Date',
    'Via',
  ),
  oddText,
);
/** Headers that say how a message is framed or what its connection does. */
const framing = fc.constantFrom(
  'Trailer: X',
  'Trailer: X, Y',
  'trailer:',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: identity',
  'Content-Length: 3',
  'Content-Length: 0',
  'Content-Length: -1',
  'Content-Length: 3, 3',
  'Content-Length: 99999999999999999999',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: upgrade, x',
  'Connection: Trailer',
  'Connection:',
  'Upgrade: websocket',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'Expect: odd',
  'TE: trailers',
  'Keep-Alive: timeout=0',
  'Content-Encoding: gzip',
  'Proxy-Connection: x',
);
const linkText = fc.constantFrom(
  '</a>; rel=preload',
  '</a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script',
  'foo',
  '</a>; title="b c"',
  '',
  '</a>; rel=\xe9',
);
const header = fc.oneof(
  { arbitrary: framing, weight: 4 },
  { arbitrary: linkText.map((link) => `Link: ${link}`), weight: 1 },
  { arbitrary: fc.tuple(oddName, oddText).map(([name, value]) => `${name}: ${value}`), weight: 2 },
  {
    arbitrary: fc.constantFrom('X-Fold: a\r\n b', 'X-Plain: a', 'no colon', ' : x', 'X : y'),
    weight: 1,
  },
);
const headers = fc
  .array(header, { maxLength: 3 })
  .map((lines) => lines.map((line) => `${line}\r\n`).join(''));
const bodies = fc.constantFrom(
  '',
  '',
  'abc',
  '3\r\nabc\r\n0\r\n\r\n',
  '3\r\nabc\r\n0\r\nX: 1\r\n\r\n',
  '3\r\nabc\r\n0\r\nX: \x01\r\nY Z: 2\r\n\r\n',
  '3\r\nab',
  '3;a=b\r\nabc\r\n0\r\n\r\n',
  'zz\r\n',
);

test('odd heads from clients end no recorder, and each exchange that reached it is recorded', {
  timeout: 600_000,
}, async () => {
  const upstream = createHttpServer((incoming, response) => {
    const [, number] = /\/neighbour\/(\d+)/.exec(incoming.url ?? '') ?? [];
    incoming
      .resume()
      .on('end', () => response.end(number === undefined ? 'ok' : `neighbour ${number}`));
  });
  const { port, stop } = await recorder(upstream, 'clients');
  const method = fc.constantFrom(
    'GET',
    'POST',
    'PATCH',
    'HEAD',
    'DELETE',
    'OPTIONS',
    'M-SEARCH',
    'get',
  );
  const target = fc.constantFrom('', '?a=%', '?\xe9', '/\t', '#x', '?a|b"<>');
  const host = fc.constantFrom('Host: a\r\n', 'Host: a\r\n', 'Host: a\r\n', '', 'Host: \xff\r\n');
  const drawn = fc.sample(
    fc.tuple(
      method,
      fc.constantFrom('', '', 'http://a', '//b'),
      target,
      fc.constantFrom('1.1', '1.1', '1.1', '1.0', '2.0'),
      host,
      headers,
      bodies,
    ),
    { seed, numRuns: runs(500) },
  );
  const items = drawn.map(
    ([verb, origin, end, version, hostLine, more, body], index) =>
      `${verb} ${origin}/odd/${index}${end} HTTP/${version}\r\n${hostLine}${more}\r\n${body}` +
      // Ends the connection, whatever the odd request made of it.
      'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  );
  const answers = await tried(port, items);
  const lines = byNumber(await stop());
  const refusedByParser = /^HTTP\/1\.1 4\d\d [A-Za-z ]+\r\nConnection: close\r\n\r\n$/;
  const wrong = answers.flatMap((answer, index) => {
    const recorded = lines.get(index)?.length ?? 0;
    const isRight = recorded === 1 || (recorded === 0 && refusedByParser.test(answer));
    return isRight ? [] : [{ sent: items[index], answer, recorded }];
  });
  expect(wrong).toEqual([]);
  expect(lines.size).toBeGreaterThan(items.length / 4);
});

test('odd heads from the service end no recorder, and each exchange is recorded', {
  timeout: 600_000,
}, async () => {
  const status = fc.oneof(
    { arbitrary: fc.constantFrom('200', '202', '204', '304', '400', '500'), weight: 4 },
    {
      arbitrary: fc.constantFrom(
        '000',
        '042',
        '099',
        '599',
        '600',
        '999',
        '1000',
        '-1',
        '20',
        'abc',
        '101',
        '199',
      ),
      weight: 3,
    },
    { arbitrary: fc.integer({ min: 0, max: 1_100 }).map(String), weight: 1 },
  );
  const interim = fc
    .tuple(
      fc.constantFrom('100', '102', '103', '103', '104', '150', '199', '101'),
      oddText,
      headers,
      linkText,
    )
    .map(
      ([code, reason, more, link]) => `HTTP/1.1 ${code} ${reason}\r\nLink: ${link}\r\n${more}\r\n`,
    );
  const reply = fc
    .tuple(
      fc.constantFrom('1.1', '1.1', '1.1', '1.0', '2.0', '0.9'),
      status,
      oddText,
      headers,
      bodies,
    )
    .map(
      ([version, code, reason, more, body]) =>
        `HTTP/${version} ${code} ${reason}\r\n${more}\r\n${body}`,
    );
  const drawn = fc.sample(
    fc.tuple(
      fc.constantFrom('GET', 'GET', 'POST', 'HEAD', 'PATCH'),
      fc.constantFrom('1.1', '1.1', '1.0'),
      fc.array(interim, { maxLength: 2 }),
      fc.array(reply, { minLength: 1, maxLength: 2 }),
    ),
    { seed, numRuns: runs(500) },
  );
  const replies = drawn.map(([, , first, then]) => [...first, ...then].join(''));
  const upstream = createServer((socket) => {
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!text.endsWith('\r\n\r\n')) return;
      const [, kind, number = ''] = /\/(odd|neighbour)\/(\d+)/.exec(text) ?? [];
      text = '';
      const body = `neighbour ${number}`;
      if (kind === 'odd') socket.end(Buffer.from(replies[Number(number)] ?? '', 'latin1'));
      else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
  });
  const { port, stop } = await recorder(upstream, 'service');
  const items = drawn.map(
    ([verb, version], index) =>
      `${verb} /odd/${index} HTTP/${version}\r\nHost: a\r\nConnection: close\r\n\r\n`,
  );
  const answers = await tried(port, items);
  const lines = byNumber(await stop());
  const wrong = answers.flatMap((answer, index) =>
    lines.get(index)?.length === 1
      ? []
      : [{ replied: replies[index], answer, lines: lines.get(index) }],
  );
  expect(wrong).toEqual([]);
  expect(answers.filter((answer) => answer !== '').length).toBeGreaterThan(items.length / 3);
});
