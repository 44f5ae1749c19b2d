/**
 * The live device actors: starts them, wakes them for work, lets them sleep, and does what a poll does.
 * Rules: SVC-3, STATE-2 to STATE-4. Assumes: pollIntervalSeconds, sendsPerPoll, progressPace, deactivation,
 * failsFrom.
 * Each device is a root actor of its own: stopping one scans the timers of its system, which here are its own.
 */
import { type Actor, createActor } from 'xstate';
import type { Assumptions } from '../sim/assumptions.ts';
import type { VirtualClock } from '../sim/clock.ts';
import { type Device, isStuckIn } from '../sim/device.ts';
import type { Dispatch } from '../sim/dispatch.ts';
import { assert } from '../sim/errors.ts';
import { LeverError } from '../sim/lever-error.ts';
import { msPerSecond } from '../sim/limits.ts';
import type { Message } from '../sim/message.ts';
import { isUnprompted } from '../sim/outcomes.ts';
import { type DeviceEvent, type DeviceSubject, deviceMachine } from './device-machine.ts';
import type { Lifecycle } from './lifecycle.ts';

/** Delays of `progressPace: own_delay`, each drawn evenly from this range. */
const shortestPaceMs = 1_000;
const longestPaceMs = 10_000;

const nothing: readonly Message[] = [];

export class Fleet implements Dispatch {
  readonly #clock: VirtualClock;
  readonly #lifecycle: Lifecycle;
  readonly #running = new Map<Device, RunningDevice>();
  #assumptions: Assumptions;
  #wakes = 0;

  constructor(clock: VirtualClock, lifecycle: Lifecycle, assumptions: Assumptions) {
    this.#clock = clock;
    this.#lifecycle = lifecycle;
    this.#assumptions = assumptions;
  }

  deviceAdded(device: Device): void {
    this.#running.set(device, new RunningDevice(device, this, this.#clock));
  }

  deviceChanged(device: Device): void {
    const wasActive = this.#runner(device).wasActive;
    if (wasActive && !device.active) this.#failQueued(device);
    this.#runner(device).announceChanges();
  }

  deviceRemoved(device: Device): void {
    this.#runner(device).stop();
    this.#running.delete(device);
  }

  queued(message: Message): void {
    const { device } = message;
    const nowMs = this.#clock.now();
    device.work.add(message, nowMs);
    this.#lifecycle.accepted(message);
    if (isStuckIn(message, 'queued') || device.polling === 'external') return;
    this.#runner(device).wakeBy(this.#pollAfter(device, Math.max(message.sendAtMs, nowMs)));
  }

  polled(device: Device): readonly Message[] {
    const taken = this.#poll(device, this.#clock.now(), false);
    this.#runner(device).send({ type: 'work_taken' });
    return taken;
  }

  /** The lever "poll now": progress is reported even within one poll interval. Returns what it picked up. */
  pollNow(device: Device): readonly Message[] {
    if (!device.connected || !device.active) {
      throw new LeverError('conflict', `the SIM ${device.number} is not connected and active`);
    }
    const taken = this.#poll(device, this.#clock.now(), true);
    this.#runner(device).send({ type: 'work_taken' });
    return taken;
  }

  /** The lever "one legal step"; false where the machine has none. */
  progress(message: Message): boolean {
    const from = message.status;
    if (!this.#lifecycle.step(message, from === 'queued' ? 'picked_up' : 'progressed'))
      return false;
    const { device } = message;
    const waitsForPolls =
      (from === 'sending' || from === 'sent') &&
      !isStuckIn(message, from) &&
      this.#assumptions.progressPace === 'per_poll';
    if (waitsForPolls) message.duePoll = device.work.pollCount + pollsOf(message);
    else this.#followUp(message);
    this.#runner(device).send({ type: 'work_queued' });
    return true;
  }

  /** The lever "fail"; false where the message is final or may not fail from its status. */
  fail(message: Message, reason: string): boolean {
    const mayFail = this.#assumptions.failsFrom.some((status) => status === message.status);
    if (!mayFail || !this.#lifecycle.step(message, 'failed', reason)) return false;
    this.#runner(message.device).send({ type: 'work_taken' });
    return true;
  }

  /** Takes over switched assumptions: the next poll may be at another time. */
  assume(assumptions: Assumptions): void {
    const paceChanged = assumptions.progressPace !== this.#assumptions.progressPace;
    this.#assumptions = assumptions;
    for (const [device, runner] of this.#running) {
      if (paceChanged) this.#changePace(device);
      runner.send({ type: 'polling_changed' });
    }
  }

  stop(): void {
    for (const runner of this.#running.values()) runner.stop();
    this.#running.clear();
  }

  /** Devices that wait for something of their own on the clock. */
  get awake(): number {
    let count = 0;
    for (const runner of this.#running.values()) if (runner.isAwake) count++;
    return count;
  }

  get size(): number {
    return this.#running.size;
  }

  /** When the device wakes by itself, in epoch milliseconds; undefined while it is not awake. */
  wakeAtMs(device: Device): number | undefined {
    return this.#running.get(device)?.wakeAtMs;
  }

  /** The devices that are awake, in the order in which they set their timers: ties fire in it. */
  inWakeOrder(): Device[] {
    return [...this.#running]
      .filter(([, runner]) => runner.isAwake)
      .sort(([, a], [, b]) => a.wakeOrdinal - b.wakeOrdinal)
      .map(([device]) => device);
  }

  /** Sets the timers of these devices anew, in this order. */
  wakeInOrder(devices: readonly Device[]): void {
    for (const device of devices) this.#runner(device).send({ type: 'polling_changed' });
  }

  /** Counts the timers that devices set. */
  nextWakeOrdinal(): number {
    return this.#wakes++;
  }

  /** When the device next has something to do by itself, in epoch milliseconds. */
  nextWakeAtMs(device: Device): number | undefined {
    const { work } = device;
    const nowMs = this.#clock.now();
    const held = work.nextHeld();
    let wakeAtMs: number | undefined;
    if (device.polling === 'external') wakeAtMs = undefined;
    else if (work.ready.length > 0 || work.inFlight.length > 0) {
      wakeAtMs = this.#pollAfter(device, nowMs);
    } else if (held !== undefined) {
      wakeAtMs = this.#pollAfter(device, Math.max(held.sendAtMs, nowMs));
    }
    const paced = work.paced.peek();
    return paced !== undefined && (wakeAtMs === undefined || paced.dueAtMs < wakeAtMs)
      ? paced.dueAtMs
      : wakeAtMs;
  }

  /** What falls due at this very time. */
  wake(device: Device): void {
    const nowMs = this.#clock.now();
    this.#takePacedSteps(device, nowMs);
    if (device.polling === 'simulated' && this.#pollAfter(device, nowMs - 1) === nowMs) {
      // What a hold lets go at the very millisecond of a poll waits for the next.
      this.#poll(device, nowMs - 1, false);
    }
  }

  get #intervalMs(): number {
    return this.#assumptions.pollIntervalSeconds * msPerSecond;
  }

  #runner(device: Device): RunningDevice {
    const runner = this.#running.get(device);
    assert(runner !== undefined, 'every device of the world is running');
    return runner;
  }

  /** The device's first poll later than `ms`. */
  #pollAfter(device: Device, ms: number): number {
    return device.pollAtOrAfter(ms + 1, this.#intervalMs);
  }

  /**
   * One poll: first progress is reported, then work is picked up. A hold that was over by `readyByMs` is released
   * before the poll is counted, as what has waited for a poll is due at this one.
   */
  #poll(device: Device, readyByMs: number, atOnce: boolean): readonly Message[] {
    const { work } = device;
    work.releaseHeld(readyByMs);
    work.pollCount++;
    if (work.inFlight.length > 0) this.#reportProgress(device, atOnce);
    return work.ready.length > 0 ? this.#pickUp(device) : nothing;
  }

  /** SVC-3: no status changes twice within one poll interval, unless a lever asks for it. */
  #reportProgress(device: Device, atOnce: boolean): void {
    const { work } = device;
    const changedBeforeMs = this.#clock.now() - (atOnce ? 0 : this.#intervalMs);
    let kept = 0;
    for (const message of work.inFlight) {
      const isDue = work.pollCount >= message.duePoll && message.changedAtMs <= changedBeforeMs;
      // A lever may have failed it, or moved it on into the state in which it stays.
      if (isDue && isInFlight(message)) {
        this.#takeStep(message);
        message.duePoll = work.pollCount + pollsOf(message);
      }
      if (isInFlight(message)) work.inFlight[kept++] = message;
    }
    work.inFlight.length = kept;
  }

  #pickUp(device: Device): readonly Message[] {
    const { work } = device;
    const { sendsPerPoll } = this.#assumptions;
    let places = sendsPerPoll === 'all' ? Number.POSITIVE_INFINITY : sendsPerPoll;
    const taken: Message[] = [];
    let kept = 0;
    for (const message of work.ready) {
      if (message.status !== 'queued') continue;
      if (work.pollCount < message.duePoll || places === 0) {
        work.ready[kept++] = message;
        continue;
      }
      places--;
      if (this.#failIfFated(message)) continue;
      this.#lifecycle.step(message, 'picked_up');
      taken.push(message);
      this.#followUp(message);
    }
    work.ready.length = kept;
    return taken;
  }

  /** Puts a message in flight where its next step will find it. */
  #followUp(message: Message): void {
    if (!isInFlight(message)) return;
    const { work } = message.device;
    if (this.#assumptions.progressPace === 'per_poll') {
      message.duePoll = work.pollCount + pollsOf(message);
      work.inFlight.push(message);
    } else {
      const drawnMs =
        shortestPaceMs + message.account.paces.below(longestPaceMs - shortestPaceMs + 1);
      const dueAtMs = this.#clock.now() + drawnMs * pollsOf(message);
      work.paced.push({ message, from: message.status, dueAtMs });
    }
  }

  #takePacedSteps(device: Device, nowMs: number): void {
    const { paced } = device.work;
    for (let next = paced.peek(); next && next.dueAtMs <= nowMs; next = paced.peek()) {
      paced.pop();
      // A lever may have taken the step meanwhile; then another row stands for the message.
      if (next.message.status !== next.from) continue;
      this.#takeStep(next.message);
      this.#followUp(next.message);
    }
  }

  #takeStep(message: Message): void {
    if (!this.#failIfFated(message)) this.#lifecycle.step(message, 'progressed');
  }

  #failIfFated(message: Message): boolean {
    const { fate } = message;
    if (fate === undefined || fate.ends !== 'failed' || fate.in !== message.status) return false;
    const reason = isUnprompted(fate) ? 'unprompted' : 'scripted';
    return this.#lifecycle.step(message, 'failed', reason);
  }

  #failQueued(device: Device): void {
    const { deactivation, failsFrom } = this.#assumptions;
    if (deactivation !== 'fails' || !failsFrom.includes('queued')) return;
    for (const message of device.work.takeQueued()) {
      this.#lifecycle.step(message, 'failed', 'device_deactivated');
    }
  }

  #changePace({ work }: Device): void {
    const inFlight = [...work.inFlight, ...work.paced.items.map(({ message }) => message)];
    work.inFlight = [];
    work.paced.clear();
    for (const message of new Set(inFlight)) this.#followUp(message);
  }
}

/** One device with its actor: what the machine asks is answered from the device record. */
class RunningDevice implements DeviceSubject {
  readonly #device: Device;
  readonly #fleet: Fleet;
  readonly #clock: VirtualClock;
  readonly #actor: Actor<typeof deviceMachine>;
  #wakeAtMs = Number.POSITIVE_INFINITY;
  #wasConnected: boolean;
  wasActive: boolean;
  /** Its place among all devices, by when it last set its timer. */
  wakeOrdinal = 0;

  constructor(device: Device, fleet: Fleet, clock: VirtualClock) {
    this.#device = device;
    this.#fleet = fleet;
    this.#clock = clock;
    this.#wasConnected = device.connected;
    this.wasActive = device.active;
    this.#actor = createActor(deviceMachine, { input: { subject: this }, clock });
    this.#actor.start();
  }

  get isAwake(): boolean {
    return this.#actor.getSnapshot().value === 'awake';
  }

  get wakeAtMs(): number | undefined {
    return this.isAwake ? this.#wakeAtMs : undefined;
  }

  /** Wakes the device unless it will be awake by then anyway. */
  wakeBy(neededAtMs: number): void {
    if (!this.isAwake || this.#wakeAtMs > neededAtMs) this.send({ type: 'work_queued' });
  }

  send(event: DeviceEvent): void {
    this.#actor.send(event);
  }

  announceChanges(): void {
    const { connected, active } = this.#device;
    if (connected !== this.#wasConnected)
      this.send({ type: connected ? 'connected' : 'disconnected' });
    if (active !== this.wasActive) this.send({ type: active ? 'activated' : 'deactivated' });
    this.#wasConnected = connected;
    this.wasActive = active;
    this.send({ type: 'polling_changed' });
  }

  stop(): void {
    this.#actor.stop();
  }

  isConnected(): boolean {
    return this.#device.connected;
  }

  isActive(): boolean {
    return this.#device.active;
  }

  isPolledExternally(): boolean {
    return this.#device.polling === 'external';
  }

  untilWakeMs(): number | undefined {
    const wakeAtMs = this.#fleet.nextWakeAtMs(this.#device);
    this.#wakeAtMs = wakeAtMs ?? Number.POSITIVE_INFINITY;
    this.wakeOrdinal = this.#fleet.nextWakeOrdinal();
    return wakeAtMs === undefined ? undefined : wakeAtMs - this.#clock.now();
  }

  wake(): void {
    this.#fleet.wake(this.#device);
  }
}

function pollsOf(message: Message): number {
  return message.fate?.polls ?? 1;
}

/** Picked up, not final, and not stuck where it is. */
function isInFlight(message: Message): boolean {
  const { status } = message;
  return (status === 'sending' || status === 'sent') && !isStuckIn(message, status);
}
