/**
 * The devices of the world, each with an actor that runs `device-machine.ts`. Reports events to the
 * actors, and carries out their decisions with `polling.ts` and `progress.ts`.
 * Rules: SVC-3, STATE-2, STATE-4. Assumes: deactivation, progressPace.
 * Each actor has its own actor system: XState scans all timers of a system when it stops an actor,
 * so a shared system would be slow.
 */
import { type Actor, createActor } from 'xstate';
import type { Device, Dispatch, Message } from '../sim/accounts/account.ts';
import type { Assumptions, AssumptionsInForce } from '../sim/assumptions.ts';
import type { VirtualClock } from '../sim/clock.ts';
import { isStuckIn } from '../sim/devices/device-work.ts';
import { assert, conflict } from '../sim/errors.ts';
import { deviceMachine, type PolledBy } from './device-machine.ts';
import type { Lifecycle } from './lifecycle.ts';
import { Polling } from './polling.ts';
import { Progress } from './progress.ts';

type DeviceActor = Actor<typeof deviceMachine>;

const nothingDue = { nextPollAt: undefined, nextStepAt: undefined };

export class DeviceActors implements Dispatch {
  readonly #clock: VirtualClock;
  readonly #assumptions: AssumptionsInForce;
  readonly #lifecycle: Lifecycle;
  readonly #progress: Progress;
  readonly #polling: Polling;
  readonly #actors = new Map<Device, DeviceActor>();
  /**
   * For each device, the count of timers when it last set its own. Timers with the same deadline
   * fire in this order.
   */
  readonly #timerOrder = new Map<Device, number>();
  /** How many timers the devices have set. */
  #timersSet = 0;

  constructor(clock: VirtualClock, lifecycle: Lifecycle, assumptions: AssumptionsInForce) {
    this.#clock = clock;
    this.#assumptions = assumptions;
    this.#lifecycle = lifecycle;
    this.#progress = new Progress(clock.now, lifecycle, assumptions);
    this.#polling = new Polling(clock.now, this.#progress, assumptions);
  }

  deviceAdded(device: Device): void {
    const { connected, active, polling } = device;
    const input = {
      now: this.#clock.now,
      timerSet: () => void this.#timerOrder.set(device, this.#timersSet++),
      work: (mayPoll: boolean) => this.#work(device, mayPoll),
      connected,
      active,
      polling,
    };
    const actor = createActor(deviceMachine, { input, clock: this.#clock });
    this.#actors.set(device, actor);
    actor.start();
    this.#reportWork(device);
  }

  deviceChanged(device: Device): void {
    const actor = this.#actor(device);
    const { connected, active, polling } = device;
    const isSwitchedOff = actor.getSnapshot().context.active && !active;
    if (isSwitchedOff && this.#assumptions.answers.deactivation === 'fails')
      this.#progress.failQueued(device);
    actor.send({ type: 'device_changed', connected, active, polling });
    this.#reportWork(device);
  }

  deviceRemoved(device: Device): void {
    this.#actor(device).stop();
    this.#actors.delete(device);
    this.#timerOrder.delete(device);
  }

  queued(message: Message): void {
    const { device } = message;
    const nowMs = this.#clock.now();
    device.work.add(message, nowMs);
    this.#lifecycle.accepted(message);
    if (isStuckIn(message, 'queued') || device.polling === 'external') return;
    // For most sends the device already wakes early enough, so they send no event to the machine.
    const { nextWakeAt } = this.#actor(device).getSnapshot().context;
    const neededAt = this.#polling.firstPollAfter(device, Math.max(message.sendAtMs, nowMs));
    if (nextWakeAt === undefined || nextWakeAt > neededAt) this.#reportWork(device);
  }

  polled(device: Device): readonly Message[] {
    if (!this.#mayPoll(device, 'device')) return [];
    const taken = this.#polling.pollForDevice(device);
    this.#reportPoll(device, 'device');
    return taken;
  }

  /** The operation "poll now". Returns the messages that it picked up. */
  pollNow(device: Device): readonly Message[] {
    if (!this.#mayPoll(device, 'operation'))
      throw conflict(`the SIM ${device.number} is not connected and active`);
    const taken = this.#polling.pollForOperation(device);
    this.#reportPoll(device, 'operation');
    return taken;
  }

  /** The operation "progress": takes one step; false if the machine has none. */
  progress(message: Message): boolean {
    if (!this.#progress.stepByOperation(message)) return false;
    this.#reportWork(message.device);
    return true;
  }

  /** The operation "fail"; false if the message is final or may not fail from its status. */
  fail(message: Message, reason: string): boolean {
    if (!this.#progress.failByOperation(message, reason)) return false;
    this.#reportWork(message.device);
    return true;
  }

  /** Call this after a switch of assumptions: the next poll may be due at another time. */
  assumptionsSwitched(before: Assumptions): void {
    const isPaceChanged = before.progressPace !== this.#assumptions.answers.progressPace;
    for (const device of this.#actors.keys()) {
      if (isPaceChanged) this.#progress.changePace(device);
      this.#reportWork(device);
    }
  }

  /** Stops all devices; this object is not used afterwards. */
  stop(): void {
    for (const actor of this.#actors.values()) actor.stop();
    this.#actors.clear();
    this.#timerOrder.clear();
  }

  /** The number of devices that have a timer on the clock. */
  get awake(): number {
    return this.inWakeOrder().length;
  }

  get size(): number {
    return this.#actors.size;
  }

  /** When the device's timer fires, in epoch milliseconds; undefined without a timer. */
  wakeAtMs(device: Device): number | undefined {
    const snapshot = this.#actors.get(device)?.getSnapshot();
    return snapshot?.value === 'awake' ? snapshot.context.nextWakeAt : undefined;
  }

  /** The devices with a timer, in the order in which they set their timers. */
  inWakeOrder(): Device[] {
    return [...this.#timerOrder]
      .filter(([device]) => this.wakeAtMs(device) !== undefined)
      .sort(([, a], [, b]) => a - b)
      .map(([device]) => device);
  }

  /** Sets the timers of these devices again, in this order. */
  wakeInOrder(devices: readonly Device[]): void {
    for (const device of devices) this.#reportWork(device);
  }

  #work(device: Device, mayPoll: boolean): void {
    this.#progress.takeDueSteps(device);
    if (mayPoll) this.#polling.pollIfDue(device);
    this.#reportWork(device);
  }

  #actor(device: Device): DeviceActor {
    const actor = this.#actors.get(device);
    assert(actor !== undefined, 'every device of the world has an actor');
    return actor;
  }

  #mayPoll(device: Device, by: PolledBy): boolean {
    return this.#actor(device)
      .getSnapshot()
      .can({ type: 'polled', by, ...nothingDue });
  }

  #reportPoll(device: Device, by: PolledBy): void {
    this.#actor(device).send({ type: 'polled', by, ...this.#polling.dueWork(device) });
  }

  /**
   * Reports to the machine when work is due. Skipped while the device is off: it would ignore the
   * event.
   */
  #reportWork(device: Device): void {
    const actor = this.#actor(device);
    if (actor.getSnapshot().hasTag('off')) return;
    actor.send({ type: 'work_changed', ...this.#polling.dueWork(device) });
  }
}
