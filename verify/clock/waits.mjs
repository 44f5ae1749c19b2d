// Run by `clock.system.test.ts` with smstwin/clock preloaded: prints one line of JSON with the
// duration of each kind of wait, on each clock.
import http from 'node:http';
import net from 'node:net';
import { setTimeout as named } from 'node:timers';
import { scheduler, setTimeout as sleep, setInterval as ticks } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

const minuteMs = 60_000;

const waits = {
  setTimeout: () => new Promise((resolve) => setTimeout(resolve, minuteMs)),
  'setTimeout of node:timers': () => new Promise((resolve) => named(resolve, minuteMs)),
  'setTimeout of node:timers/promises': () => sleep(minuteMs),
  'promisify(setTimeout)': () => promisify(setTimeout)(minuteMs),
  'scheduler.wait': () => scheduler.wait(minuteMs),
  setInterval: () =>
    new Promise((resolve) => {
      let left = 2;
      const interval = setInterval(() => {
        if (--left > 0) return;
        clearInterval(interval);
        resolve();
      }, minuteMs / 2);
    }),
  'setInterval of node:timers/promises': async () => {
    let left = 2;
    for await (const _ of ticks(minuteMs / 2)) if (--left === 0) return;
  },
  'AbortSignal.timeout': () =>
    new Promise((resolve) => {
      // A signal alone does not keep the process running.
      const alive = setTimeout(() => {}, 60 * minuteMs);
      AbortSignal.timeout(minuteMs).addEventListener('abort', () => {
        clearTimeout(alive);
        resolve();
      });
    }),
  'a request of node:http': () =>
    new Promise((resolve) => {
      const server = net.createServer((socket) => socket.on('error', () => {}).resume());
      server.listen(0, '127.0.0.1', () => {
        const { port } = server.address();
        const request = http.get({ host: '127.0.0.1', port, timeout: minuteMs });
        request.on('error', () => {});
        request.on('timeout', () => {
          request.destroy();
          server.close(resolve);
        });
      });
    }),
};

const clocks = {
  'Date.now': () => Date.now(),
  'new Date': () => Date.parse(new Date().toISOString()),
  'performance.now': () => performance.now(),
  'process.hrtime': () => {
    const [seconds, ns] = process.hrtime();
    return seconds * 1_000 + ns / 1_000_000;
  },
  'process.hrtime.bigint': () => Number(process.hrtime.bigint()) / 1_000_000,
  'process.uptime': () => process.uptime() * 1_000,
};

function read() {
  return Object.values(clocks).map((now) => now());
}

if (isMainThread) {
  const took = {};
  for (const [name, wait] of Object.entries(waits)) {
    const before = read();
    await wait();
    took[name] = Object.fromEntries(
      read().map((ms, n) => [Object.keys(clocks)[n], ms - before[n]]),
    );
  }
  const worker = new Worker(new URL(import.meta.url));
  const inWorker = await new Promise((resolve) => worker.once('message', resolve));
  const ahead = { worker: inWorker - Date.now() };
  class Own extends Date {}
  const dates = [
    new Date() instanceof Date,
    new Own() instanceof Date,
    new Date().constructor === Date,
    new Date(5).getTime() === 5,
    typeof Date() === 'string',
  ];
  console.log(JSON.stringify({ took, ahead, dates }));
} else {
  parentPort.postMessage(Date.now());
}
