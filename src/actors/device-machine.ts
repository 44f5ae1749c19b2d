/**
 * A paired SIM that polls for work. Rules: SVC-3, STATE-2. Assumes: pollIntervalSeconds.
 * It rests where nothing can happen by itself: unpaired, deactivated, polled by a real device, or without
 * work. (Messages that a real device has picked up may still progress at their own pace: then it is awake.) Awake, it waits for its next poll on the virtual clock; which poll that is follows from its phase, so
 * a rest shifts nothing.
 */
import { setup } from 'xstate';

/** What the machine asks of the device it runs; answers are read when a decision is made. */
export interface DeviceSubject {
  isConnected(): boolean;
  isActive(): boolean;
  isPolledExternally(): boolean;
  /** Milliseconds until something happens by itself, or undefined. */
  untilWakeMs(): number | undefined;
  /** What falls due now: a poll, a step, or both. */
  wake(): void;
}

export type DeviceEvent =
  | { readonly type: 'work_queued' }
  | { readonly type: 'work_taken' }
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected' }
  | { readonly type: 'activated' }
  | { readonly type: 'deactivated' }
  | { readonly type: 'polling_changed' };

export const deviceMachine = setup({
  types: {
    context: {} as { readonly subject: DeviceSubject },
    input: {} as { readonly subject: DeviceSubject },
    events: {} as DeviceEvent,
  },
  delays: {
    untilWake: ({ context }) => context.subject.untilWakeMs() ?? 0,
  },
  guards: {
    isDisconnected: ({ context }) => !context.subject.isConnected(),
    isDeactivated: ({ context }) => !context.subject.isActive(),
    isPolledExternally: ({ context }) => context.subject.isPolledExternally(),
    hasWork: ({ context }) => context.subject.untilWakeMs() !== undefined,
  },
  actions: {
    wake: ({ context }) => context.subject.wake(),
  },
}).createMachine({
  id: 'device',
  context: ({ input }) => ({ subject: input.subject }),
  initial: 'deciding',
  on: { polling_changed: '.deciding' },
  states: {
    deciding: {
      always: [
        { guard: 'isDeactivated', target: 'deactivated' },
        { guard: 'isDisconnected', target: 'disconnected' },
        { guard: 'hasWork', target: 'awake' },
        { guard: 'isPolledExternally', target: 'external' },
        { target: 'asleep' },
      ],
    },
    deactivated: { on: { activated: 'deciding' } },
    disconnected: { on: { connected: 'deciding', deactivated: 'deciding' } },
    external: {
      on: {
        work_queued: 'deciding',
        work_taken: 'deciding',
        disconnected: 'deciding',
        deactivated: 'deciding',
      },
    },
    asleep: {
      on: { work_queued: 'deciding', disconnected: 'deciding', deactivated: 'deciding' },
    },
    awake: {
      after: { untilWake: { target: 'deciding', actions: 'wake' } },
      on: {
        work_queued: 'deciding',
        work_taken: 'deciding',
        disconnected: 'deciding',
        deactivated: 'deciding',
      },
    },
  },
});
