/**
 * Checks the clock's timers: they are in heap order, not overdue, and each awake device has one.
 * Rules: SVC-3.
 */
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';

export function checkClock({ clock, fleet, world }: Simulation, found: Findings): void {
  const { timers } = clock;
  const deadlines = new Map<number, number>();
  for (const [place, timer] of timers.entries()) {
    found.checked.timers++;
    const { deadlineMs, arrival, index } = timer;
    const parent = timers[(place - 1) >> 1];
    const isBeforeParent =
      place > 0 &&
      parent !== undefined &&
      (deadlineMs < parent.deadlineMs ||
        (deadlineMs === parent.deadlineMs && arrival < parent.arrival));
    if (index !== place || isBeforeParent) {
      found.report('clock', `the timer of ${deadlineMs} is out of heap order`);
    }
    if (deadlineMs < clock.now()) found.report('clock', `a timer of ${deadlineMs} is overdue`);
    deadlines.set(deadlineMs, (deadlines.get(deadlineMs) ?? 0) + 1);
  }
  for (const device of world.devices.values()) {
    const wakeAtMs = fleet.wakeAtMs(device);
    if (wakeAtMs === undefined) continue;
    const left = deadlines.get(wakeAtMs) ?? 0;
    if (left === 0) found.report('SVC-3', `SIM ${device.number} has no timer for ${wakeAtMs}`);
    deadlines.set(wakeAtMs, left - 1);
  }
}
