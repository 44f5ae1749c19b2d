/**
 * The service's endpoints, transcribed, so that the soak shares no code with the service.
 */
export const sendPaths = {
  send: '/api/v1/sms/send/',
  dashboard_send: '/api/sms/send/',
  external_send: '/api/external/send/',
} as const;
export type SendEndpoint = keyof typeof sendPaths;
export const sendEndpoints = Object.keys(sendPaths) as readonly SendEndpoint[];

export const limitsPerMinute = {
  send: 120,
  dashboard_send: 120,
  external_send: 120,
  received: 120,
  tasks: 60,
} as const;
export type LimitedEndpoint = keyof typeof limitsPerMinute;

/** Undefined for endpoints without a limit. */
export function limitedEndpoint(path: string): LimitedEndpoint | undefined {
  for (const endpoint of sendEndpoints) if (sendPaths[endpoint] === path) return endpoint;
  if (path === '/api/v1/sms/received/') return 'received';
  return /^\/api\/devices\/[^/]+\/tasks\/$/.test(path) ? 'tasks' : undefined;
}
