/**
 * Finds the endpoint that a request is for, by its path. Paths are compared as sent: nothing is
 * decoded. `src/http/service/other-spellings.ts` reads other spellings. Rules: VER-1.
 */
import type { EndpointName } from './limits.ts';

/** One endpoint of the service: a method and a path. */
export interface Route {
  readonly endpoint: EndpointName;
  readonly method: 'GET' | 'POST';
  /** The path as documentation and OpenAPI write it. */
  readonly pattern: string;
}

/** The paths, as documentation and OpenAPI write them. Only the harness and tests repeat them. */
export const servicePaths = {
  send: '/api/v1/sms/send/',
  dashboard_send: '/api/sms/send/',
  external_send: '/api/external/send/',
  received: '/api/v1/sms/received/',
  tasks: '/api/devices/{device_id}/tasks/',
  read: '/api/v1/sms/{message_id}/',
  stats: '/api/v1/account/stats/',
} as const satisfies Record<EndpointName, string>;

const routeOf = <const E extends EndpointName, const M extends Route['method']>(
  method: M,
  endpoint: E,
) => ({ endpoint, method, pattern: servicePaths[endpoint] });

export const routes = {
  send: routeOf('POST', 'send'),
  dashboard_send: routeOf('POST', 'dashboard_send'),
  external_send: routeOf('POST', 'external_send'),
  received: routeOf('GET', 'received'),
  tasks: routeOf('GET', 'tasks'),
  read: routeOf('GET', 'read'),
  stats: routeOf('GET', 'stats'),
} as const satisfies Record<EndpointName, Route>;

/** The route of a path; `id` is its variable part, undecoded. */
export interface RouteMatch {
  readonly route: Route;
  readonly id: string;
}

const literalRoutes = new Map<string, RouteMatch>(
  Object.values(routes)
    .filter(({ pattern }) => !pattern.includes('{'))
    .map((route) => [route.pattern, { route, id: '' }]),
);

/** The fixed parts of the two paths with an id. */
const [readPrefix] = servicePaths.read.split('{message_id}') as [string];
const [tasksPrefix, tasksSuffix] = servicePaths.tasks.split('{device_id}') as [string, string];

/** Literal paths win over ids, so `received` and `send` are never message ids. */
export function matchRoute(path: string): RouteMatch | undefined {
  const literal = literalRoutes.get(path);
  if (literal !== undefined) return literal;
  if (path.startsWith(readPrefix) && path.endsWith('/'))
    return withId(routes.read, path.slice(readPrefix.length, -1));
  if (path.startsWith(tasksPrefix) && path.endsWith(tasksSuffix))
    return withId(routes.tasks, path.slice(tasksPrefix.length, -tasksSuffix.length));
  return undefined;
}

function withId(route: Route, id: string): RouteMatch | undefined {
  return id === '' || id.includes('/') ? undefined : { route, id };
}
