/**
 * Finds the endpoint that a request is for, by its path. Paths are compared as sent: nothing is
 * decoded. Rules: VER-1. Assumes: trailingSlash, pathCase, methodNotAllowed, headMethod.
 */
import type { Assumptions } from '#src/sim/assumptions.ts';
import type { EndpointName } from './limits.ts';
import { servicePaths } from './service-paths.ts';

/** One endpoint of the service: a method and a path. */
export interface Route {
  readonly endpoint: EndpointName;
  readonly method: 'GET' | 'POST';
  /** The path as documentation and OpenAPI write it. */
  readonly pattern: string;
}

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
  if (path.startsWith(readPrefix) && path.endsWith('/')) {
    return withId(routes.read, path.slice(readPrefix.length, -1));
  }
  if (path.startsWith(tasksPrefix) && path.endsWith(tasksSuffix)) {
    return withId(routes.tasks, path.slice(tasksPrefix.length, -tasksSuffix.length));
  }
  return undefined;
}

/** Matches a path that the assumptions accept as another spelling of a documented one. */
export function matchOtherSpelling(
  path: string,
  { trailingSlash, pathCase }: Pick<Assumptions, 'trailingSlash' | 'pathCase'>,
): RouteMatch | undefined {
  if (trailingSlash !== 'served' && pathCase === 'exact') return undefined;
  const slashed = trailingSlash === 'served' && !path.endsWith('/') ? `${path}/` : path;
  const match = matchRoute(pathCase === 'any' ? slashed.toLowerCase() : slashed);
  if (match === undefined || match.id === '' || pathCase === 'exact') return match;
  // The id keeps its case: `pathIdForm` decides about that.
  const start = slashed.toLowerCase().indexOf(match.id);
  return { route: match.route, id: slashed.slice(start, start + match.id.length) };
}

type HeadMethod = Assumptions['headMethod'];

/** The value of `Allow`: `GET, HEAD` or `POST`. */
export function allowedMethods(route: Route, headMethod: HeadMethod = 'as_get'): string {
  return takesMethod(route, 'HEAD', headMethod) ? 'GET, HEAD' : route.method;
}

/** HEAD is allowed where GET is, but not for tasks: they are handed out, and HEAD has no body. */
export function takesMethod(
  route: Route,
  method: string,
  headMethod: HeadMethod = 'as_get',
): boolean {
  if (method === 'HEAD') {
    return headMethod === 'as_get' && route.method === 'GET' && route.endpoint !== 'tasks';
  }
  return method === route.method;
}

function withId(route: Route, id: string): RouteMatch | undefined {
  return id === '' || id.includes('/') ? undefined : { route, id };
}
