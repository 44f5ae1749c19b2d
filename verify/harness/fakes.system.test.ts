/** The harness against servers that break every rule, or cannot be reached. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../testkit/processes/listen.ts';
import { sample } from '../testkit/runs.ts';
import { allFlags, type Fake, fake, type Outcome, run } from './fake-servers.ts';

/** A fake server, which is closed when the test ends. */
async function faked(listener: RequestListener): Promise<Fake> {
  const server = await fake(listener);
  onTestFinished(() => server.close());
  return server;
}

function nothingPassed({ verdicts, out }: Outcome): void {
  expect(Object.keys(verdicts).length, out).toBeGreaterThan(150);
  const wrong = Object.entries(verdicts).filter(([, verdict]) =>
    ['passed', 'observed', 'error'].includes(verdict),
  );
  expect(wrong).toEqual([]);
}

const wrongServers = [
  ['401', 401, 'application/json', '{"code":"auth_invalid_keyy","detail":"no"}'],
  ['500', 500, 'application/json', '{"code":"internal","detail":"oops"}'],
  ['404', 404, 'application/json', '{"detail":"Not found."}'],
  ['429', 429, 'application/json', '{"detail":"Expected available in 30 seconds."}'],
  ['an HTML page', 200, 'text/html', '<!doctype html><title>Welcome</title>'],
  ['an empty object', 200, 'application/json', '{}'],
  ['an empty 202', 202, 'application/json', ''],
] as const;

// `SMSTWIN_RUNS=7` tries all of them.
for (const [name, status, type, body] of sample(wrongServers, 1))
  test(`a server that answers ${name} to everything passes nothing`, async () => {
    const server = await faked((_, response) => {
      response.writeHead(status, { 'content-type': type, 'retry-after': '30' });
      response.end(body);
    });
    const outcome = await run(server.baseUrl, ...allFlags, '--timeout', '20s');
    nothingPassed(outcome);
    expect(outcome.code).toBe(1);
  });

/** One line on stderr and nothing else. */
function saidOnce({ code, out, err }: Outcome, line: string): void {
  expect({ code, out, err }).toEqual({ code: 3, out: '', err: `smstwin conform: ${line}\n` });
}

test('a target that refuses the connection is not reachable, in one line: exit 3', async () => {
  const server = createHttpServer();
  const url = `http://127.0.0.1:${await listen(server)}`;
  await new Promise((resolve) => server.close(resolve));
  saidOnce(
    await run(url, ...allFlags),
    `${url} is not reachable: ECONNREFUSED; start it, or name another address`,
  );
});

test('a target that never answers is not reachable, in one line: exit 3', async () => {
  const server = await faked(() => {});
  const outcome = await run(server.baseUrl, ...allFlags, '--reply-timeout', '300ms');
  saidOnce(
    outcome,
    `${server.baseUrl} is not reachable: timed out; start it, or name another address`,
  );
});

test('a target that closes every connection is not reachable, in one line: exit 3', async () => {
  const server = createServer((socket) => socket.destroy());
  const url = `http://127.0.0.1:${await listen(server)}`;
  saidOnce(
    await run(url, ...allFlags),
    `${url} is not reachable: ECONNRESET; start it, or name another address`,
  );
  server.close();
});

test('a report of an unreachable target names every case as not exercised', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-unreached-'));
  const file = join(folder, 'report.json');
  const target = 'http://127.0.0.1:9';
  const found = join(folder, 'found.json');
  await run(target, ...allFlags, '--report', `json=${file}`, '--discover', found);
  const { results } = JSON.parse(readFileSync(file, 'utf8'));
  expect(results.length).toBeGreaterThan(150);
  expect(new Set(results.map(({ verdict }: { verdict: string }) => verdict))).toEqual(
    new Set(['not_exercised']),
  );
  expect(existsSync(found)).toBe(false);
  rmSync(folder, { recursive: true });
});

test('a control port that does not answer is not reachable, in one line: exit 3', async () => {
  const server = await faked((_, response) => response.end('{}'));
  const control = 'http://127.0.0.1:9';
  const outcome = await run(server.baseUrl, '--control-url', control);
  saidOnce(
    outcome,
    `cannot use the control port ${control}: GET /control/openapi.json: no reply (ECONNREFUSED); is it that of a simulator?`,
  );
});

test('without a key everything is skipped by name, and nothing was exercised: exit 4', async () => {
  const server = await faked((_, response) => response.end('{}'));
  const outcome = await run(server.baseUrl);
  expect(outcome.code).toBe(4);
  expect(outcome.out).toContain('needs --api-key or --control-url');
});

test('no message to a recipient outside --allow-to ever leaves', async () => {
  const server = await faked((_, response) => {
    response.writeHead(202, { 'content-type': 'application/json' });
    response.end('{"message_id":"x","status":"queued"}');
  });
  await run(server.baseUrl, ...allFlags, '--allow-to', '+12125550150', '--timeout', '1m');
  expect(server.posts.length).toBeGreaterThan(20);
  const withRecipient = server.posts.filter((body) => body.includes('"to"'));
  const isFromUnknown = (body: string) => body.includes('"from":"+12025550199"');
  // Some bodies go on after their object.
  const recipientsIn = (bodies: readonly string[]) =>
    new Set(bodies.map((body) => JSON.parse(body.replace(/\}(?:x|\{\})$/, '}')).to));
  const recipients = recipientsIn(withRecipient.filter((body) => !isFromUnknown(body)));
  // A sender that no SIM has also names the recipient as it is dialled, or a part of it.
  const nearly = [...recipientsIn(withRecipient.filter(isFromUnknown))].map((to) =>
    JSON.stringify(to).replace(/\D/g, ''),
  );
  const isNear = (digits: string) =>
    digits.includes('12125550150') || '12125550150'.startsWith(digits) || digits === '2125550150';
  expect(nearly.filter((digits) => !isNear(digits))).toEqual([]);
  expect(nearly).toContain('0012125550150');
  // Wrong spellings and lists of the recipient name no other one; what names none sends nothing.
  const named = [...recipients].map((to) => String(to ?? '').replace(/[^+\d]/g, ''));
  expect(named).toContain('+12125550150');
  expect(named.filter((to) => !/^(?:\+12125550150)*$/.test(to))).toEqual([]);
  const isWithout = (body: string) => body.includes('"from"') && !body.includes('"to"');
  expect(server.posts.some(isWithout)).toBe(true);
});

test('never more than --max-sends requests to send leave, and the exit code is 6 or 1', async () => {
  const server = await faked((_, response) => {
    response.writeHead(202, { 'content-type': 'application/json' });
    response.end('{"message_id":"x","status":"queued"}');
  });
  const outcome = await run(server.baseUrl, 'SEND-4', ...allFlags, '--max-sends', '7');
  expect(server.posts.length).toBe(7);
  expect([1, 6]).toContain(outcome.code);
});
