/** Examples of the assumptions about limits and quotas. */
import { dayMs } from '#contract/time.ts';
import { brief } from '../twin/scene.ts';
import { answers, type Examples, exhaust, unauthenticated } from './example.ts';

export const limits = {
  limiterRefill: {
    startsAt: '2026-01-15T10:00:30.000Z',
    scene: (scene) => {
      scene.limit('send', 6);
      scene.send();
      scene.advance(10_000);
      const { passed, waitSeconds } = exhaust(scene);
      scene.advance(waitSeconds * 1000);
      return `${passed} more, after ${waitSeconds} s another ${exhaust(scene).passed}`;
    },
    shows: answers(
      ['sliding', '5 more, after 50 s another 1'],
      ['continuous', '6 more, after 10 s another 1'],
      ['interval', '5 more, after 50 s another 6'],
      ['interval_aligned', '5 more, after 20 s another 6'],
      ['sliding_counter', '5 more, after 21 s another 1'],
    ),
  },
  refusedSpendsToken: {
    scene: (scene) => {
      scene.limit('send', 1);
      scene.send();
      scene.advance(30_000);
      return `wait ${exhaust(scene).waitSeconds} s`;
    },
    shows: answers(['no', 'wait 30 s'], ['yes', 'wait 60 s']),
  },
  errorsSpendToken: {
    scene: (scene) => {
      scene.limit('send', 1);
      return `${brief(scene.send({ to: 'x' }))}, ${brief(scene.send())}`;
    },
    shows: answers(['yes', '400 to, 429'], ['no', '400 to, 202']),
  },
  replaySpends: {
    scene: (scene) => {
      scene.limit('send', 1);
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a' }));
    },
    shows: answers(['throttle', '429'], ['nothing', '200']),
  },
  unauthenticatedThrottle: {
    scene: (scene) => {
      scene.limit('received', 1);
      const call = () => scene.get('/api/v1/sms/received/', { changes: unauthenticated }).status;
      return `${call()}, ${call()}`;
    },
    shows: answers(['then_429', '401, 429'], ['always_401', '401, 401']),
  },
  clientIp: {
    scene: (scene) => {
      scene.limit('tasks', 1);
      const call = (forwardedFor: string) => {
        const changes = { ...unauthenticated, forwardedFor };
        return scene.get('/api/devices/x/tasks/', { changes }).status;
      };
      return `${call('198.51.100.1')}, ${call('198.51.100.2')}`;
    },
    shows: answers(['peer', '401, 429'], ['x_forwarded_for', '401, 401']),
  },
  monthlyQuota: {
    scene: (scene) => `${brief(scene.send())}, of ${scene.stats().quota.limit}`,
    shows: answers(
      [10_000, '202, of 10000'],
      [0, '402 quota_exceeded, of 0'],
      ['unlimited', '202, of null'],
    ),
    more: [3],
    judged: [10_000, 0, 'unlimited'],
  },
  quotaUnit: {
    scene: (scene) => {
      scene.send({ message: 'x'.repeat(161) });
      return `${scene.stats().quota.used} used`;
    },
    shows: answers(['messages', '1 used'], ['segments', '2 used']),
  },
  quotaMonth: {
    startsAt: '2026-01-31T23:59:59.999Z',
    scene: (scene) => {
      scene.send();
      scene.advance(1);
      return `${scene.stats().quota.used} used`;
    },
    shows: answers(['calendar_utc', '0 used'], ['rolling_30_days', '1 used']),
  },
  quotaRefund: {
    scene: (scene) => {
      scene.send({ to: '+12025550160' });
      scene.advance(20_000);
      return `${scene.stats().quota.used} used`;
    },
    shows: answers(['no', '1 used'], ['yes', '0 used']),
  },
  messageRetention: {
    scene: (scene) => {
      const sent = scene.send();
      const after = (days: number) => {
        scene.advance(days * dayMs);
        return scene.read(sent).status;
      };
      return [after(1), after(29), after(29)].join();
    },
    shows: answers(['forever', '200,200,200'], [1, '200,404,404'], [30, '200,200,404']),
    judged: ['forever', 1, 30],
  },
} satisfies Examples;
