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

function slashedRoute(path: string, pathCase: Assumptions['pathCase']): Route | undefined {
  const [known, flags] = pathCase === 'any' ? [path.toLowerCase(), 'i'] : [path, ''];
  const endpoint = fixedPaths[known];
  if (endpoint !== undefined) return { endpoint, id: '' };
  const device = new RegExp('^/api/devices/([^/]+)/tasks/$', flags).exec(path)?.[1];
  if (device !== undefined) return { endpoint: 'tasks', id: device };
  const message = new RegExp('^/api/v1/sms/([^/]+)/$', flags).exec(path)?.[1];
  return message === undefined ? undefined : { endpoint: 'read', id: message };
}

/** VER-1: the endpoint of a path, in the spellings that `trailingSlash` and `pathCase` allow. */
export function routeAt(path: string, { trailingSlash, pathCase }: Assumptions): Route | undefined {
  const isServed = trailingSlash === 'served' && !path.endsWith('/');
  return slashedRoute(isServed ? `${path}/` : path, pathCase);
}

/** The reply to a path that names no endpoint. */
export function withoutRoute(
  { path, query }: ApiRequest,
  key: ReferenceKey | undefined,
  assumptions: Assumptions,
): Expected {
  if (assumptions.keyCheck === 'first' && key === undefined) return wrongKey(assumptions);
  const canRedirect = slashedRoute(`${path}/`, 'exact') !== undefined;
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
