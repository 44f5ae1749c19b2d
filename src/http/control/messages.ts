/**
 * Messages on the control port.
 */
import { type MessageQuery, querySchema } from '../../operations/message-query.ts';
import {
  type FailInput,
  failInputSchema,
  messagePageSchema,
  messageRecordSchema,
} from '../../operations/messages.ts';
import { type WaitInput, waitedSchema, waitInputSchema } from '../../operations/wait.ts';
import type { Route } from './route.ts';

export const messageRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/messages',
    summary: 'Messages of all accounts, newest first.',
    status: 200,
    query: querySchema,
    result: messagePageSchema,
    run: ({ simulator, query }) => simulator.messages.list(query as MessageQuery),
  },
  {
    method: 'POST',
    path: '/control/messages/wait',
    summary: 'Answers when so many messages match.',
    status: 200,
    body: waitInputSchema,
    result: waitedSchema,
    refusals: [408, 409],
    run: ({ simulator, body }) => simulator.messages.wait(body as WaitInput),
  },
  {
    method: 'GET',
    path: '/control/messages/{message_id}',
    summary: 'The full record of a message, with its history.',
    status: 200,
    result: messageRecordSchema,
    run: ({ simulator, ids: [id = ''] }) => simulator.messages.get(id),
  },
  {
    method: 'POST',
    path: '/control/messages/{message_id}/progress',
    summary: 'One legal step.',
    status: 200,
    result: messageRecordSchema,
    refusals: [409],
    run: ({ simulator, ids: [id = ''] }) => simulator.messages.progress(id),
  },
  {
    method: 'POST',
    path: '/control/messages/{message_id}/fail',
    summary: 'The message fails.',
    status: 200,
    body: failInputSchema,
    bodyRequired: false,
    result: messageRecordSchema,
    refusals: [409],
    run: ({ simulator, ids: [id = ''], body }) =>
      simulator.messages.fail(id, body as FailInput | undefined),
  },
];
