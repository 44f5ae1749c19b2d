/**
 * The paths of the service, as documentation and OpenAPI write them: the only place that
 * spells them, the harness and tests apart. Rules: VER-1.
 */
import type { EndpointName } from './limits.ts';

export const servicePaths = {
  send: '/api/v1/sms/send/',
  dashboard_send: '/api/sms/send/',
  external_send: '/api/external/send/',
  received: '/api/v1/sms/received/',
  tasks: '/api/devices/{device_id}/tasks/',
  read: '/api/v1/sms/{message_id}/',
  stats: '/api/v1/account/stats/',
} as const satisfies Record<EndpointName, string>;
