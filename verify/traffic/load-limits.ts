/** The part of the mixed load that meets the limits: floods, steady loads, and shared buckets. */

import { secondFrom } from '../harness/flags-world.ts';
import { sendPaths } from '../testkit/twin/request.ts';
import { type Recorder, receivedPath, statsPath, tasksPath } from './load-recorder.ts';

const allSendPaths = Object.values(sendPaths);

/** Over two minutes: the longest that a permitted bucket takes to refill. */
export const refillSeconds = 130;
/** Also refills all buckets: floods of one limit follow each other. */
const betweenFloodsSeconds = 150;
/** A steady load spends a whole limit in this time, which is slightly less than the minute. */
const steadySeconds = 56;
/** How many limits a steady load spends: it lasts 67 s, which is longer than the minute. */
const steadyLimits = 1.2;

/** Shows which endpoints and callers share a bucket. */
export function mixBuckets(load: Recorder, firstId: unknown): void {
  const { key } = load.target;
  load.repeat({ count: 100, everySeconds: 0.2 }, () => load.read(firstId));
  load.repeat({ count: 70, everySeconds: 0.5 }, () => {
    for (const path of allSendPaths) load.send({}, key, path);
  });
  load.wait(refillSeconds);
  load.repeat({ count: 130, everySeconds: 0.05 }, () => {
    load.get(receivedPath, undefined);
    load.read('00000000-0000-4000-8000-000000000001');
  });
  load.repeat({ count: 20, everySeconds: 0 }, () => load.get(receivedPath, key));
  load.wait(refillSeconds);
}

/** Each limit: a flood, then a request a second until some pass again, then a steady load. */
export function exhaustLimits(load: Recorder, firstId: unknown): void {
  const { key, otherKey, secondKey } = load.target;
  for (const [path, method, limit] of [
    ...allSendPaths.map((sendPath) => [sendPath, 'POST', 120] as const),
    [receivedPath, 'GET', 120] as const,
    [tasksPath(load.target), 'GET', 60] as const,
  ]) {
    const spend = (byKey: string) => {
      if (method === 'GET') load.get(path, byKey);
      else load.send({ to: '+12125550154' }, byKey, path);
    };
    load.toNextMinute();
    load.repeat({ count: 130, everySeconds: 0.05 }, (index) =>
      spend(index % 3 === 0 ? otherKey : key),
    );
    load.repeat({ count: 75, everySeconds: 1 }, (elapsedSeconds) => {
      spend(elapsedSeconds % 5 === 0 ? otherKey : key);
      if (elapsedSeconds >= 3) return;
      load.read(firstId);
      load.get(statsPath, key);
      if (method === 'GET') load.get(path, secondKey);
      else load.send({ from: secondFrom }, secondKey, path);
    });
    load.wait(betweenFloodsSeconds);
    load.repeat({ count: limit * steadyLimits, everySeconds: steadySeconds / limit }, () =>
      spend(key),
    );
    load.wait(betweenFloodsSeconds);
  }
  // Reads and statistics have no limit.
  load.repeat({ count: 150, everySeconds: 0.2 }, () => {
    load.read(firstId);
    load.get(statsPath, key);
  });
}
