/**
 * The audit of real limiters over HTTP, as their users configure them: `npx vitest run --project
 * release verify/audit`. The
 * packages of npm come into a temporary folder; Debian has the others: python3-flask-limiter,
 * python3-djangorestframework, ruby-rack-attack, ruby-activesupport, puma, nginx, haproxy. Nothing
 * that is certain may be false. `SMSTWIN_RUNS`: how often each is examined; `SMSTWIN_SIZES`:
 * `5/1,20/4,120/60`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { audit } from '#cli/audit/audit.ts';
import { freePort } from '#src/http/transport/listening.ts';
import { shell } from '../testkit/doc-commands.ts';
import { type RealLimiter, realLimiters, type Size } from './real/real-limiters.ts';

const packages = [
  ...['express@5', 'express-rate-limit@8', 'rate-limiter-flexible@11', 'ioredis@5', 'fastify@5'],
  ...['@fastify/rate-limit@11', '@nestjs/common@12', '@nestjs/core@12', 'reflect-metadata', 'rxjs'],
  ...['@nestjs/platform-express@12', '@nestjs/throttler@6', 'hono@4', 'hono-rate-limiter@0.5'],
  ...['@hono/node-server', 'koa@3', 'koa-ratelimit@6', 'limiter@4', 'bottleneck@2'],
];

const folder = mkdtempSync(join(tmpdir(), 'smstwin-limiters-'));
const source = join(import.meta.dirname, 'real');
let server: ChildProcess | undefined;

beforeAll(async () => {
  for (const file of readdirSync(source)) copyFileSync(join(source, file), join(folder, file));
  await shell(
    `npm install --prefix ${folder} --prefer-offline --no-audit --no-fund ${packages.join(' ')}`,
  );
});

afterAll(() => {
  server?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
  console.log(tableOf(results));
});

const sizes = (process.env['SMSTWIN_SIZES'] ?? '5/1,20/4').split(',').map((text): Size => {
  const [limit = 0, seconds = 0] = text.split('/').map(Number);
  return { limit, windowMs: seconds * 1_000 };
});
const runs = Number(process.env['SMSTWIN_RUNS'] ?? 1);
const rows = Array.from({ length: runs }, (_, i) => i + 1).flatMap((run) =>
  sizes.flatMap((size) =>
    realLimiters.map((limiter) => ({ name: limiter.name, limiter, ...size, run })),
  ),
);

test.each(rows)('$name, $limit in $windowMs ms, run $run', async ({ limiter, limit, windowMs }) => {
  const isThere = limiter.needs === undefined || spawnSync('which', [limiter.needs]).status === 0;
  if (!isThere) return;
  const port = await freePort(0, '127.0.0.1');
  const [program = '', ...rest] = limiter.command(port, { limit, windowMs }, folder);
  server = spawn(program, rest, { cwd: folder, stdio: 'ignore' });
  await expect.poll(() => isListening(port), { timeout: 20_000 }).toBe(true);
  const file = join(folder, 'report.json');
  const silent = { out: () => {}, error: () => {}, env: {}, version: '1' };
  const before = process.cpuUsage();
  await audit([`http://127.0.0.1:${port}/`, '--report', `json=${file}`, ...others], silent);
  const cpu = process.cpuUsage(before);
  server.kill('SIGKILL');
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  const result = {
    limiter,
    limit,
    windowMs,
    report,
    ...judged(limiter, { limit, windowMs }, report),
  };
  results.push(result);
  console.log(`${lineOf(result)} | ${((cpu.user + cpu.system) / 1e6).toFixed(1)} s of CPU`);
  expect(result.lies).toEqual([]);
});

/** A key is certain only if each difference that may be in it was tried. */
const others = [
  ...['--caller', 'X-Api-Key: a, b'],
  ...['--vary-path', '/other', '--vary-path', '/?x=1'],
];

interface Said {
  readonly value: unknown;
  readonly certainty: string;
  readonly sentence: string;
}

interface Report {
  readonly requests: number;
  readonly seconds: number;
  readonly statements: Readonly<Record<string, Said>>;
}

interface Judged {
  readonly right: readonly string[];
  readonly open: readonly string[];
  readonly lies: readonly string[];
}

interface Result extends Judged, Size {
  readonly limiter: RealLimiter;
  readonly report: Report;
}

const results: Result[] = [];

/** Compares what is certain with what is true. */
function judged(limiter: RealLimiter, size: Size, { statements }: Report): Judged {
  const rows = Object.entries(limiter.truth(size)).map(([name, truths]) => {
    const { value, certainty, sentence } = statements[name] ?? { value: null };
    const isTrue = truths.includes(plain(value));
    if (certainty !== 'certain') return { name, kind: 'open' };
    return { name: isTrue ? name : `${name}: ${sentence}`, kind: isTrue ? 'right' : 'lies' };
  });
  const of = (kind: string) => rows.filter((row) => row.kind === kind).map(({ name }) => name);
  return { right: of('right'), open: of('open'), lies: of('lies') };
}

/** Lists as text; fields as true if all of them are. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.join(',');
  if (value === null || typeof value !== 'object') return value;
  return Object.values(value).every((each) => each === true);
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** What should be certain of a limiter of a known kind. */
const asked = ['algorithm', 'limit', 'window_seconds', 'keyed_by', 'refusals_spend'];

function lineOf({ limiter, limit, windowMs, report, right, open, lies }: Result): string {
  const { algorithm, retry_after: wait, fields, at_once: atOnce } = report.statements;
  return [
    `${limiter.name}, ${limit} in ${windowMs / 1_000} s: ${report.requests} requests in ${Math.round(report.seconds)} s`,
    `right: ${right.join(' ')}`,
    `open: ${open.join(' ')}`,
    ...(lies.length === 0 ? [] : [`FALSE: ${lies.join('; ')}`]),
    ...[algorithm, wait, fields, atOnce].map((each) => each?.sentence ?? ''),
  ].join(' | ');
}

function tableOf(all: readonly Result[]): string {
  const known = all.filter(({ limiter }) => limiter.isKnown);
  const shares = asked.map((name) => {
    const found = known.filter(({ right }) => right.includes(name));
    return `${name} ${found.length}`;
  });
  const whole = known.filter(({ right }) => asked.every((name) => right.includes(name)));
  const lies = all.filter((each) => each.lies.length > 0);
  return `${all.length} audits, ${lies.length} with a false word; of ${known.length} limiters of known kinds, all five right and certain: ${whole.length}; ${shares.join(', ')}`;
}
