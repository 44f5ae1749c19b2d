/**
 * The examples of the OpenAPI document: one sequence of calls in the default world.
 * `openapi-examples.test.ts` repeats the calls and compares the replies.
 * Assumes: requestIdMaxLength, receivedShape, tasksShape.
 */
import type { Assumptions } from '../sim/assumptions.ts';
import type { EndpointName } from '../sim/limits.ts';
import type { AccountStats } from '../sim/read.ts';
import type { ReceivedPage } from '../sim/received.ts';
import type { Task } from '../sim/tasks.ts';

export const exampleSend = {
  to: '+12025550123',
  from: '+12025550101',
  message: 'Your code is 4711.',
  request_id: 'order-1001',
} as const;

export const exampleSendByAlias = {
  to: '+12025550123',
  from_number: '+12025550101',
  message: 'Your parcel is on its way.',
} as const;

const queued = {
  status: 'queued',
  message_id: '5d7bc081-00bd-4af3-bd1d-9d90f7969ece',
  request_id: exampleSend.request_id,
  device_id: '1baa192d-d5a2-4236-8707-282206a81904',
  from_number: exampleSend.from,
  to: exampleSend.to,
  created_at: '2026-01-01T00:00:00.000Z',
} as const;

const received: ReceivedPage = {
  count: 1,
  next: null,
  previous: null,
  results: [
    {
      message_id: 'f32ea785-3ebf-4bcc-9f10-e95089f5ad04',
      device_id: queued.device_id,
      from_number: exampleSend.to,
      to: exampleSend.from,
      message: 'Thank you!',
      received_at: '2026-01-01T00:05:00.000Z',
    },
  ],
};

const tasks: readonly Task[] = [
  {
    message_id: '075d0691-3444-4f89-a758-52cfffde389a',
    to: exampleSendByAlias.to,
    from_number: exampleSendByAlias.from_number,
    message: exampleSendByAlias.message,
  },
];

const stats: AccountStats = {
  messages: { queued: 0, sending: 1, sent: 0, delivered: 1, failed: 0 },
  quota: { used: 2, limit: 10_000 },
  sims_connected: 2,
  received: 1,
};

/** The first send, with a `request_id` that is not too long. */
export function exampleSendUnder({ requestIdMaxLength }: Assumptions) {
  return { ...exampleSend, request_id: exampleSend.request_id.slice(0, requestIdMaxLength) };
}

/** The endpoint's reply in that sequence. */
export function exampleOf(endpoint: EndpointName, assumptions: Assumptions): unknown {
  const { receivedShape, tasksShape } = assumptions;
  const { request_id } = exampleSendUnder(assumptions);
  switch (endpoint) {
    case 'send':
    case 'dashboard_send':
    case 'external_send':
      return { ...queued, request_id };
    case 'read':
      return { ...queued, request_id, status: 'delivered' };
    case 'received':
      return receivedShape === 'page' ? received : received.results;
    case 'tasks':
      return tasksShape === 'tasks' ? { tasks } : tasks;
    case 'stats':
      return stats;
  }
}
