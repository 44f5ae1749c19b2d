/**
 * Limiters of npm packages, each before a server that answers alike at `/` and `/other`, configured
 * as their users do it:
 * `node limiters.mjs NAME PORT LIMIT WINDOW_MS`. Runs in a folder where the packages are installed.
 */
import http from 'node:http';

const [name, portText, limitText, windowText] = process.argv.slice(2);
const [port, limit, windowMs] = [portText, limitText, windowText].map(Number);
const host = '127.0.0.1';

/** A server that asks a limiter for each request; it answers 429 with the headers that it is given. */
function serveWith(take) {
  const server = http.createServer(async ({ socket }, reply) => {
    const refused = await take(socket.remoteAddress);
    if (refused === undefined) reply.end('ok');
    else reply.writeHead(429, refused).end();
  });
  server.listen(port, host);
}

async function express(standardHeaders) {
  const { default: makeApp } = await import('express');
  const { rateLimit } = await import('express-rate-limit');
  const app = makeApp();
  app.use(rateLimit({ windowMs, limit, standardHeaders, legacyHeaders: false }));
  app.use((_, reply) => reply.send('ok'));
  app.listen(port, host);
}

async function flexible(make) {
  const limiter = make(await import('rate-limiter-flexible'));
  serveWith(async (address) => {
    try {
      await limiter.consume(address);
      return undefined;
    } catch ({ msBeforeNext = 0 }) {
      return { 'Retry-After': String(Math.ceil(msBeforeNext / 1_000)) };
    }
  });
}

const duration = windowMs / 1_000;

const limiters = {
  'express-6': () => express('draft-6'),
  'express-7': () => express('draft-7'),
  'express-8': () => express('draft-8'),

  flexible: () =>
    flexible(({ RateLimiterMemory }) => new RateLimiterMemory({ points: limit, duration })),

  'flexible-block': () =>
    flexible(
      ({ RateLimiterMemory }) =>
        new RateLimiterMemory({ points: limit, duration, blockDuration: 1.5 * duration }),
    ),

  'flexible-burst': () =>
    flexible(
      ({ BurstyRateLimiter, RateLimiterMemory }) =>
        new BurstyRateLimiter(
          new RateLimiterMemory({ points: limit, duration }),
          new RateLimiterMemory({ keyPrefix: 'burst', points: limit, duration: 3 * duration }),
        ),
    ),

  // Redis does not run: the limiter in memory stands in.
  'flexible-insurance': async () => {
    const { default: Redis } = await import('ioredis');
    const storeClient = new Redis({ host, port: 1, enableOfflineQueue: false });
    storeClient.on('error', () => {});
    await flexible(({ RateLimiterMemory, RateLimiterRedis }) => {
      const numbers = { points: limit, duration };
      const insuranceLimiter = new RateLimiterMemory(numbers);
      return new RateLimiterRedis({ storeClient, insuranceLimiter, ...numbers });
    });
  },

  fastify: async () => {
    const { default: makeApp } = await import('fastify');
    const { default: rateLimit } = await import('@fastify/rate-limit');
    const app = makeApp();
    await app.register(rateLimit, { max: limit, timeWindow: windowMs });
    app.get('/*', async () => 'ok');
    await app.listen({ port, host });
  },

  nest: async () => {
    await import('reflect-metadata');
    const { Controller, Get, Module } = await import('@nestjs/common');
    const { APP_GUARD, NestFactory } = await import('@nestjs/core');
    const { ThrottlerGuard, ThrottlerModule } = await import('@nestjs/throttler');
    class Root {
      get() {
        return 'ok';
      }
    }
    const method = Object.getOwnPropertyDescriptor(Root.prototype, 'get');
    Get(['/', '/other'])(Root.prototype, 'get', method);
    Controller()(Root);
    class App {}
    Module({
      imports: [ThrottlerModule.forRoot([{ ttl: windowMs, limit }])],
      controllers: [Root],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    })(App);
    await (await NestFactory.create(App, { logger: false })).listen(port, host);
  },

  hono: async () => {
    const { serve } = await import('@hono/node-server');
    const { Hono } = await import('hono');
    const { rateLimiter } = await import('hono-rate-limiter');
    const keyGenerator = ({ env }) => env.incoming.socket.remoteAddress;
    const app = new Hono();
    app.use(rateLimiter({ windowMs, limit, standardHeaders: 'draft-7', keyGenerator }));
    app.get('*', (context) => context.text('ok'));
    serve({ fetch: app.fetch, port, hostname: host });
  },

  koa: async () => {
    const { default: Koa } = await import('koa');
    const { default: rateLimit } = await import('koa-ratelimit');
    const app = new Koa();
    const id = ({ ip }) => ip;
    app.use(rateLimit({ driver: 'memory', db: new Map(), duration: windowMs, max: limit, id }));
    app.use((context) => {
      context.body = 'ok';
    });
    app.listen(port, host);
  },

  'limiter-bucket': async () => {
    const { TokenBucket } = await import('limiter');
    const bucket = new TokenBucket({
      bucketSize: limit,
      tokensPerInterval: limit,
      interval: windowMs,
    });
    serveWith(() => (bucket.tryRemoveTokens(1) ? undefined : {}));
  },

  // A bucket and a window at once.
  limiter: async () => {
    const { RateLimiter } = await import('limiter');
    const limiter = new RateLimiter({ tokensPerInterval: limit, interval: windowMs });
    serveWith(() => (limiter.tryRemoveTokens(1) ? undefined : {}));
  },

  bottleneck: async () => {
    const { default: Bottleneck } = await import('bottleneck');
    const limiter = new Bottleneck({
      reservoir: limit,
      reservoirRefreshAmount: limit,
      reservoirRefreshInterval: windowMs,
      highWater: 0,
      strategy: Bottleneck.strategy.OVERFLOW,
    });
    serveWith(() => limiter.schedule(async () => undefined).catch(() => ({})));
  },
};

await limiters[name]();
