/**
 * The replies of the endpoints that are not sends: read, received, tasks and stats.
 * Rules: READ-1, READ-2, LIMIT-4. Assumes: receivedShape, tasksShape, replyTemplates.
 */

import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { routes } from '#contract/routes.ts';
import type { Account } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { pollTasks, taskDetails } from '../../sim/devices/tasks.ts';
import { type AccountStats, accountStats, listReceived, read } from '../../sim/read.ts';
import { noReplyTemplates } from '../../sim/reply-templates.ts';
import { itemsOf, refuse, reword } from './templated-replies.ts';

const ok = 200;

// Without templates, which is the default, these four return early and build no values for them.

export function readReply(
  world: Registry,
  account: Account,
  id: string,
  request: ApiRequest,
): ApiReply {
  const decision = read(world, account, id);
  if (decision.kind !== 'read') return refuse(world, request, decision);
  const reply = { status: ok, body: decision.body };
  if (world.assumptions.replyTemplates === noReplyTemplates) return reply;
  return reword(world, request, 'message', reply, () => ({}));
}

export function receivedReply(world: Registry, account: Account, request: ApiRequest): ApiReply {
  const { receivedShape, replyTemplates } = world.assumptions;
  const parameters = new URLSearchParams(request.query);
  const query = { page: parameters.get('page'), page_size: parameters.get('page_size') };
  const decision = listReceived(account, routes.received.pattern, query, world.assumptions);
  if (decision.kind !== 'received') return refuse(world, request, decision);
  const { page } = decision;
  const reply = json(receivedShape === 'page' ? page : page.results);
  if (replyTemplates === noReplyTemplates) return reply;
  const items = () => itemsOf(world, request, 'received', page.results);
  return reword(world, request, 'received', reply, () => ({ ...page, items: items() }));
}

export function tasksReply(
  world: Registry,
  account: Account,
  id: string,
  request: ApiRequest,
): ApiReply {
  const { tasksShape, replyTemplates } = world.assumptions;
  const decision = pollTasks(world, account, id);
  if (decision.kind !== 'tasks') return refuse(world, request, decision);
  const { tasks } = decision;
  const reply = json(tasksShape === 'tasks' ? { tasks } : tasks);
  if (replyTemplates === noReplyTemplates) return reply;
  const items = () => itemsOf(world, request, 'tasks', tasks.map(taskDetails(world)));
  return reword(world, request, 'tasks', reply, () => ({ count: tasks.length, items: items() }));
}

export function statsReply(world: Registry, account: Account, request: ApiRequest): ApiReply {
  const stats = accountStats(world, account);
  const reply = json(stats);
  if (world.assumptions.replyTemplates === noReplyTemplates) return reply;
  return reword(world, request, 'stats', reply, () => statsValues(stats));
}

function json(value: unknown): ApiReply {
  return { status: ok, body: JSON.stringify(value) };
}

/** The statistics, by the placeholder names of templates. */
function statsValues({ messages, quota, sims_connected, received }: AccountStats) {
  const { used, limit } = quota;
  return {
    ...messages,
    accepted: Object.values(messages).reduce((sum, count) => sum + count, 0),
    quota_used: used,
    quota_limit: limit,
    quota_left: limit === null ? null : Math.max(0, limit - used),
    sims_connected,
    received,
  };
}
