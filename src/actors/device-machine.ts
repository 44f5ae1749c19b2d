/**
 * A SIM device. Rules: SVC-3, STATE-2. This machine alone decides whether the device may poll, and
 * when it does something by itself:
 *
 *   deactivated, disconnected   off: it neither polls nor reports progress
 *   asleep                      on, and no work falls due by itself
 *   awake                       on, with a timer for `nextWakeAt` on the virtual clock
 *   working                     its timer has fired: it does the work that is due
 *
 * Its guards read only the context and the event. Events carry facts. `device-actors.ts` sends
 * them, asks `can(polled)` before it polls for a real device or an operation, and passes in what
 * the machine calls.
 */
import { and, assertEvent, assign, setup } from 'xstate';
import type { DeviceState } from '../sim/accounts/device.ts';

/** When the work of a device is due, in epoch milliseconds; undefined if no such work waits. */
export interface DueWork {
  /** The first poll of the device that will find work. */
  readonly nextPollAt: number | undefined;
  /** The earliest step that a message takes by itself (`progressPace: own_delay`). */
  readonly nextStepAt: number | undefined;
}

/** `device`: a real device asked for its tasks. `operation`: a user asked for a poll at once. */
export type PolledBy = 'device' | 'operation';

export type DeviceEvent =
  | ({ readonly type: 'device_changed' } & DeviceState)
  | ({ readonly type: 'work_changed' } & DueWork)
  | ({ readonly type: 'polled'; readonly by: PolledBy } & DueWork);

interface DeviceInput extends DeviceState {
  readonly now: () => number;
  /** Called when a timer was set. */
  readonly timerSet: () => void;
  /**
   * Takes the steps that are due, polls if a poll is due and permitted, and reports
   * `work_changed`.
   */
  readonly work: (mayPoll: boolean) => void;
}

interface DeviceContext extends DeviceInput {
  /** In epoch milliseconds. */
  readonly nextWakeAt: number | undefined;
}

const parts = setup({
  types: {
    context: {} as DeviceContext,
    input: {} as DeviceInput,
    events: {} as DeviceEvent,
    tags: {} as 'off',
  },
  delays: { untilWake: ({ context }) => (context.nextWakeAt ?? 0) - context.now() },
  guards: {
    isDeactivated: ({ context }) => !context.active,
    isDisconnected: ({ context }) => !context.connected,
    isDueByItself: ({ context, event }) => wakeAt(context, event) !== undefined,
    /** A device that polls externally polls only when the real device sends a request. */
    mayPoll: ({ context, event }) =>
      event.type === 'polled' && (event.by === 'operation' || context.polling === 'external'),
  },
  actions: {
    noteDevice: assign(({ event }) => {
      assertEvent(event, 'device_changed');
      const { connected, active, polling } = event;
      return { connected, active, polling, nextWakeAt: undefined };
    }),
    noteDueWork: assign({ nextWakeAt: ({ context, event }) => wakeAt(context, event) }),
    timerSet: ({ context }) => context.timerSet(),
    work: ({ context }) => context.work(context.polling === 'simulated'),
  },
});

const setTimer = { target: 'awake', reenter: true, actions: 'noteDueWork' } as const;
const sleep = { target: 'asleep', actions: 'noteDueWork' } as const;
const whileOn = {
  work_changed: [{ guard: 'isDueByItself', ...setTimer }, sleep],
  polled: [
    { guard: and(['mayPoll', 'isDueByItself']), ...setTimer },
    { guard: 'mayPoll', ...sleep },
  ],
} as const;

export const deviceMachine = parts.createMachine({
  id: 'device',
  context: ({ input }) => ({ ...input, nextWakeAt: undefined }),
  initial: 'changed',
  on: { device_changed: { target: '.changed', actions: 'noteDevice' } },
  states: {
    changed: {
      always: [
        { guard: 'isDeactivated', target: 'deactivated' },
        { guard: 'isDisconnected', target: 'disconnected' },
        { target: 'asleep' },
      ],
    },
    deactivated: { tags: 'off' },
    disconnected: { tags: 'off' },
    asleep: { on: whileOn },
    awake: { entry: 'timerSet', after: { untilWake: 'working' }, on: whileOn },
    working: { entry: 'work', on: whileOn },
  },
});

/** When the device wakes for this work. A real device polls by its requests, without a wake. */
function wakeAt({ polling }: DeviceState, event: DeviceEvent): number | undefined {
  if (event.type === 'device_changed') return undefined;
  const { nextPollAt, nextStepAt } = event;
  if (nextPollAt === undefined || polling === 'external') return nextStepAt;
  return nextStepAt === undefined ? nextPollAt : Math.min(nextPollAt, nextStepAt);
}
