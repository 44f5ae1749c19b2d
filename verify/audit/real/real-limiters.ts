/**
 * Real limiters that `smstwin audit` is tested with: how each is started, and which statements
 * about it are true. Every other statement is false, even if the audit's exchanges permit it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A limit, and the window in which that many requests pass. */
export interface Size {
  readonly limit: number;
  readonly windowMs: number;
}

export interface RealLimiter {
  readonly name: string;
  /** The command that serves it, in a folder with the files of this one. */
  readonly command: (port: number, size: Size, folder: string) => readonly string[];
  /** For each statement the true values; a limiter of an unknown kind may have several. */
  readonly truth: (size: Size) => Readonly<Record<string, readonly unknown[]>>;
  /** True if the audit knows limiters of this kind, so that it should learn this one. */
  readonly isKnown: boolean;
  /** The program that must be installed. */
  readonly needs?: string;
}

/** The properties of a limiter of a known kind. */
interface Kind {
  readonly algorithm: string;
  readonly keyedBy?: string;
  readonly refusalsSpend?: boolean;
  readonly retryAfter: readonly string[];
  /** False if its fields are wrong. */
  readonly fields?: false;
  /** False if its counter is read before it is written. */
  readonly atOnce?: false;
  readonly windowSeconds?: (size: Size) => readonly number[];
  readonly limit?: (size: Size) => number;
}

function truthOf(kind: Kind): RealLimiter['truth'] {
  return (size) => {
    const limit = kind.limit?.(size) ?? size.limit;
    return {
      algorithm: [kind.algorithm],
      limit: [limit],
      window_seconds: kind.windowSeconds?.(size) ?? [size.windowMs / 1_000],
      burst: [['token_bucket', 'leaky_queue'].includes(kind.algorithm) ? limit : null],
      refusals_spend: [kind.refusalsSpend ?? false],
      keyed_by: [kind.keyedBy ?? 'address'],
      retry_after: kind.retryAfter,
      fields: [true, ...((kind.fields ?? true) ? [] : [false])],
      ...(kind.atOnce !== false && { at_once: ['exact'] }),
    };
  };
}

/** The truth of two limits at once, which are none of the known kinds. */
function truthOfSeveral(retryAfter: readonly string[], keyedBy = 'address'): RealLimiter['truth'] {
  return () => ({
    algorithm: ['none_of_these'],
    limit: [],
    window_seconds: [],
    burst: [],
    refill_per_second: [],
    keyed_by: [keyedBy],
    retry_after: retryAfter,
    fields: [true],
  });
}

function by(...program: readonly string[]) {
  return (name: string): RealLimiter['command'] =>
    (port, { limit, windowMs }) =>
      [...program, name, port, limit, windowMs].map(String);
}

const node = by('node', 'limiters.mjs');
const python = by('/usr/bin/python3', 'limiters.py');

/** A wait that is rounded up suffices; the time of the request decides whether it is exact. */
const sufficient = ['exact', 'sufficient'];
const absent = ['absent'];

function learned(
  name: string,
  command: RealLimiter['command'],
  kind: Kind,
  needs?: string,
): RealLimiter {
  return {
    name,
    command,
    truth: truthOf(kind),
    isKnown: true,
    ...(needs !== undefined && { needs }),
  };
}

const window: Kind = { algorithm: 'fixed_window', retryAfter: sufficient };

export const realLimiters: readonly RealLimiter[] = [
  learned('express-rate-limit draft 6', node('express-6'), window),
  learned('express-rate-limit draft 7', node('express-7'), window),
  learned('express-rate-limit draft 8', node('express-8'), window),
  learned('rate-limiter-flexible', node('flexible'), window),
  learned('rate-limiter-flexible insurance', node('flexible-insurance'), window),
  learned('rate-limiter-flexible block', node('flexible-block'), window),
  {
    name: 'rate-limiter-flexible burst',
    command: node('flexible-burst'),
    truth: truthOfSeveral(['exact', 'sufficient', 'short']),
    isKnown: false,
  },
  learned('@fastify/rate-limit', node('fastify'), window),
  learned('@nestjs/throttler', node('nest'), { ...window, algorithm: 'sliding_log' }),
  learned('hono-rate-limiter', node('hono'), window),
  learned('koa-ratelimit', node('koa'), { ...window, retryAfter: ['short'], fields: false }),
  learned('limiter TokenBucket', node('limiter-bucket'), {
    algorithm: 'token_bucket',
    keyedBy: 'all',
    retryAfter: absent,
  }),
  {
    name: 'limiter RateLimiter',
    command: node('limiter'),
    truth: truthOfSeveral(absent, 'all'),
    isKnown: false,
  },
  {
    // It refills at the ticks of a timer, which come late: its window is longer than the set one.
    name: 'bottleneck',
    command: node('bottleneck'),
    truth: ({ limit }) => ({
      algorithm: ['aligned_window', 'none_of_these'],
      limit: [limit],
      keyed_by: ['all'],
      retry_after: absent,
      fields: [true],
    }),
    isKnown: false,
  },
  learned('flask-limiter fixed-window', python('flask-fixed'), {
    ...window,
    retryAfter: ['short', ...sufficient],
    fields: false,
  }),
  learned('flask-limiter moving-window', python('flask-moving'), {
    algorithm: 'sliding_log',
    retryAfter: ['short', ...sufficient],
    fields: false,
    atOnce: false,
  }),
  learned('Django REST framework', python('django'), {
    algorithm: 'sliding_log',
    retryAfter: sufficient,
    atOnce: false,
  }),
  learned(
    'rack-attack',
    (port, { limit, windowMs }) => [
      ...['env', `LIMIT=${limit}`, `WINDOW_MS=${windowMs}`],
      ...['puma', '-b', `tcp://127.0.0.1:${port}`, 'config.ru'],
    ],
    { algorithm: 'aligned_window', retryAfter: absent },
    'puma',
  ),
  learned(
    'HAProxy http_req_rate',
    haproxy,
    { algorithm: 'sliding_counter', refusalsSpend: true, retryAfter: absent },
    'haproxy',
  ),
  learned(
    'nginx limit_req nodelay',
    nginx(({ limit }) => `burst=${limit - 1} nodelay`),
    { algorithm: 'token_bucket', retryAfter: absent },
    'nginx',
  ),
  learned(
    'nginx limit_req',
    nginx(() => ''),
    {
      algorithm: 'token_bucket',
      retryAfter: absent,
      limit: () => 1,
      windowSeconds: ({ limit, windowMs }) => [windowMs / limit / 1_000],
    },
    'nginx',
  ),
  // Requests one by one are delayed and never refused.
  learned(
    'nginx limit_req burst',
    nginx(({ limit }) => `burst=${limit - 1}`),
    { algorithm: 'leaky_queue', retryAfter: absent, atOnce: false },
    'nginx',
  ),
];

function haproxy(port: number, { limit, windowMs }: Size, folder: string): readonly string[] {
  const file = join(folder, `haproxy-${port}.cfg`);
  writeFileSync(
    file,
    `defaults
 mode http
 timeout client 10s
 timeout server 10s
 timeout connect 1s
frontend f
 bind 127.0.0.1:${port}
 stick-table type ip size 1k expire 10m store http_req_rate(${windowMs}ms)
 http-request track-sc0 src
 http-request deny deny_status 429 if { sc_http_req_rate(0) gt ${limit} }
 http-request return status 200
`,
  );
  return ['haproxy', '-f', file, '-db'];
}

function nginx(burstOf: (size: Size) => string): RealLimiter['command'] {
  return (port, size, parent) => {
    const folder = join(parent, `nginx-${port}`);
    mkdirSync(folder, { recursive: true });
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; master_process off; error_log ${folder}/error.log; pid ${folder}/pid; events {}
http { access_log off; ${temporary.map((each) => `${each}_temp_path ${folder}/${each};`).join(' ')}
limit_req_zone $binary_remote_addr zone=a:1m rate=${(size.limit * 60_000) / size.windowMs}r/m; limit_req_status 429;
server { listen 127.0.0.1:${port}; location / { limit_req zone=a ${burstOf(size)}; try_files /nothing @ok; } location @ok { return 200; } } }
`,
    );
    return ['nginx', '-c', join(folder, 'nginx.conf')];
  };
}
