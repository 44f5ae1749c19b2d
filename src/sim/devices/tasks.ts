/**
 * The tasks that a polling device gets. Rules: STATE-2, SVC-3. Assumes: tasksShape.
 * Handing out a task is the pickup, so each task is handed out once.
 */

import { isoTime } from '#contract/time.ts';
import type { Account } from '../accounts/account.ts';
import type { Registry } from '../accounts/registry.ts';
import type { ServiceError } from '../errors.ts';

export interface Task {
  readonly message_id: string;
  readonly to: string;
  readonly from_number: string;
  readonly message: string;
}

export type TasksDecision =
  | { readonly kind: 'tasks'; readonly tasks: readonly Task[] }
  | ServiceError;

/** One poll of a real device. A device that polls by itself, or is off, gets no tasks. */
export function pollTasks(world: Registry, account: Account, deviceId: string): TasksDecision {
  const device = world.devices.get(deviceId);
  if (device === undefined || device.account !== account) return { kind: 'not_found' };
  const tasks = world.polled(device).map((message) => ({
    message_id: message.messageId,
    to: message.to,
    from_number: device.number,
    message: message.text,
  }));
  return { kind: 'tasks', tasks };
}

/** A task, with the further fields of its message that a template may show. */
export function taskDetails(world: Registry): (task: Task) => object {
  return (task) => {
    const message = world.messages.get(task.message_id);
    if (message === undefined) return task;
    const { requestId, device, createdAtMs } = message;
    return {
      ...task,
      request_id: requestId,
      device_id: device.deviceId,
      created_at: isoTime(createdAtMs),
    };
  };
}
