/**
 * The paths and methods of the reference model: which endpoint a path names, and the reply to a
 * path that names none.
 * Rules: VER-1, AUTH-3. Assumes: trailingSlash, pathCase, keyCheck, headMethod.
 */
import type { EndpointName } from '#contract/limits.ts';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import type { Assumptions } from './answers.ts';
import { type Expected, notFound, wrongKey } from './reference-replies.ts';
import type { ReferenceKey } from './reference-world.ts';

export interface Route {
  readonly endpoint: EndpointName;
  /** The id of a message or a device as the path spells it; empty for other endpoints. */
  readonly id: string;
}

const fixedPaths: Readonly<Record<string, EndpointName>> = {
  '/api/v1/sms/send/': 'send',
  '/api/sms/send/': 'dashboard_send',
  '/api/external/send/': 'external_send',
  '/api/v1/sms/received/': 'received',
  '/api/v1/account/stats/': 'stats',
};

function exactRoute(path: string): Route | undefined {
  const endpoint = fixedPaths[path];
  if (endpoint !== undefined) return { endpoint, id: '' };
  const device = /^\/api\/devices\/([^/]+)\/tasks\/$/.exec(path)?.[1];
  if (device !== undefined) return { endpoint: 'tasks', id: device };
  const message = /^\/api\/v1\/sms\/([^/]+)\/$/.exec(path)?.[1];
  return message === undefined ? undefined : { endpoint: 'read', id: message };
}

/** VER-1: the endpoint of a path, in the spellings that `trailingSlash` and `pathCase` allow. */
export function routeAt(path: string, { trailingSlash, pathCase }: Assumptions): Route | undefined {
  const exact = exactRoute(path);
  if (exact !== undefined) return exact;
  const slashed = trailingSlash === 'served' && !path.endsWith('/') ? `${path}/` : path;
  const route = exactRoute(pathCase === 'any' ? slashed.toLowerCase() : slashed);
  if (route === undefined || route.id === '') return route;
  const id = slashed.split('/').find((part) => part.toLowerCase() === route.id.toLowerCase());
  return { ...route, id: id ?? route.id };
}

/** The reply to a path that names no endpoint. */
export function withoutRoute(
  { path, query }: ApiRequest,
  key: ReferenceKey | undefined,
  assumptions: Assumptions,
): Expected {
  if (assumptions.keyCheck === 'first' && key === undefined) return wrongKey(assumptions);
  const canRedirect = exactRoute(`${path}/`) !== undefined;
  if (!canRedirect || assumptions.trailingSlash !== 'redirect') return notFound(assumptions);
  const location = `${path}/${query === '' ? '' : `?${query}`}`;
  return { status: 301, body: {}, headers: { location } };
}

/** HEAD is allowed if GET is, except for tasks: handed-out tasks would be lost. */
export function allowedMethods(
  endpoint: EndpointName,
  { headMethod }: Assumptions,
): readonly string[] {
  if (endpoint.endsWith('send')) return ['POST'];
  return endpoint === 'tasks' || headMethod === 'refused' ? ['GET'] : ['GET', 'HEAD'];
}
