import { expect, test } from 'vitest';
import {
  allowedMethods,
  matchOtherSpelling,
  takesMethod,
} from '#src/http/service/other-spellings.ts';
import { matchRoute, routes } from './routes.ts';

test.each([
  ['/api/v1/sms/send/', 'send', ''],
  ['/api/sms/send/', 'dashboard_send', ''],
  ['/api/external/send/', 'external_send', ''],
  ['/api/v1/sms/received/', 'received', ''],
  ['/api/v1/account/stats/', 'stats', ''],
  [
    '/api/v1/sms/a0000000-0000-4000-8000-000000000000/',
    'read',
    'a0000000-0000-4000-8000-000000000000',
  ],
  ['/api/v1/sms/anything%2Fat all/', 'read', 'anything%2Fat all'],
  ['/api/v1/sms/../', 'read', '..'],
  ['/api/devices/x/tasks/', 'tasks', 'x'],
  ['/api/devices/tasks/tasks/', 'tasks', 'tasks'],
])('VER-1 %s is %s', (path, endpoint, id) => {
  const match = matchRoute(path);
  expect(match?.route.endpoint).toBe(endpoint);
  expect(match?.id).toBe(id);
});

test('pathCase any: an id keeps its case, also where the path has its text before', () => {
  const accepted = { trailingSlash: 'served', pathCase: 'any' } as const;
  for (const path of ['/API/v1/sms/SMS/', '/api/V1/SMS/Sms', '/API/devices/DEVICES/tasks/']) {
    const id = path.split('/')[path.includes('devices') ? 3 : 4];
    expect(matchOtherSpelling(path, accepted)?.id).toBe(id);
  }
});

test.each([
  '',
  '/',
  '/api/v1/sms/send',
  '/api/v1/sms/send//',
  '//api/v1/sms/send/',
  '/API/v1/sms/send/',
  '/api/v1/sms/Send',
  '/api/v2/sms/send/',
  '/v1/sms/send/',
  '/api/sms/received/',
  '/api/account/stats/',
  '/api/v1/devices/x/tasks/',
  '/api/v1/external/send/',
  '/api/v1/sms/',
  '/api/v1/sms//',
  '/api/v1/sms/a/b/',
  '/api/v1/sms/%73end',
  '/api/v1/sms/./send/',
  '/api/devices/tasks/',
  '/api/devices//tasks/',
  '/api/devices/a/b/tasks/',
  '/api/devices/x/tasks',
  '*',
  '/control/health',
])('VER-1 %j leads nowhere: paths are compared as sent', (path) => {
  expect(matchRoute(path)).toBeUndefined();
});

test('VER-1 the version is in the path of four endpoints, and in that of the three others it is not', () => {
  const patterns = Object.values(routes).map(({ pattern }) => pattern);
  expect(patterns.filter((pattern) => pattern.startsWith('/api/v1/'))).toHaveLength(4);
  expect(patterns.filter((pattern) => !/v\d/.test(pattern))).toEqual([
    '/api/sms/send/',
    '/api/external/send/',
    '/api/devices/{device_id}/tasks/',
  ]);
});

test.each(Object.values(routes))(
  '$method $pattern takes its method, and HEAD where it takes GET',
  (route) => {
    const taken = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get'].filter(
      (method) => takesMethod(route, method),
    );
    expect(taken.join(', ')).toBe(allowedMethods(route));
    // A HEAD of the tasks would hand work out and lose it.
    const withHead = route.method === 'GET' && route.endpoint !== 'tasks';
    expect(allowedMethods(route)).toBe(withHead ? 'GET, HEAD' : route.method);
  },
);
