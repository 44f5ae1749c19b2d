/** Other spellings of documented paths, and HEAD. Assumes: trailingSlash, pathCase, headMethod. */
import { matchRoute, type Route, type RouteMatch } from '#contract/routes.ts';
import type { Assumptions } from '../../sim/assumptions.ts';

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
  const start = match.route.pattern.indexOf('{');
  return { route: match.route, id: slashed.slice(start, start + match.id.length) };
}

type HeadMethod = Assumptions['headMethod'];

/** The value of `Allow`: `GET, HEAD` or `POST`. */
export function allowedMethods(route: Route, headMethod: HeadMethod = 'as_get'): string {
  return takesMethod(route, 'HEAD', headMethod) ? 'GET, HEAD' : route.method;
}

/** HEAD is allowed if GET is, except for tasks: they are handed out, and HEAD has no body. */
export function takesMethod(
  route: Route,
  method: string,
  headMethod: HeadMethod = 'as_get',
): boolean {
  if (method === 'HEAD')
    return headMethod === 'as_get' && route.method === 'GET' && route.endpoint !== 'tasks';
  return method === route.method;
}
