/**
 * One real timer that advances all simulated clocks, because a thousand worlds would otherwise need
 * a timer each. Each clock says how long it has nothing to do, up to a second, and is not touched
 * until then: thousands of idle worlds cost next to nothing. It does not keep the process running.
 */
// Not the global ones, which a test may fake: this timer outlives the test.
import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';

const tickMs = 25;
/** A clock with nothing to do is looked at again after this many ticks: real time may jump. */
const mostTicks = 40;

/** What is due at a tick, by the tick's number modulo `mostTicks`. */
const slots = Array.from({ length: mostTicks }, () => new Set<TickListener>());
let lastTick = 0;
let listening = 0;
let timer: NodeJS.Timeout | undefined;

export class TickListener {
  readonly #act: () => number;
  /** The tick that calls it next; infinite while it is stopped. */
  #due = Number.POSITIVE_INFINITY;

  /** `act` returns for how many real milliseconds it need not be called. */
  constructor(act: () => number) {
    this.#act = act;
  }

  start(): void {
    if (this.#due !== Number.POSITIVE_INFINITY) return;
    if (listening++ === 0) {
      lastTick = tickNow();
      timer = setInterval(tick, tickMs).unref();
    }
    this.#dueIn(1);
  }

  stop(): void {
    if (this.#due === Number.POSITIVE_INFINITY) return;
    slotOf(this.#due).delete(this);
    this.#due = Number.POSITIVE_INFINITY;
    if (--listening === 0) clearInterval(timer);
  }

  /** Something may be due earlier than it said: calls it at the next tick. */
  hurry(): void {
    if (this.#due <= lastTick + 1 || this.#due === Number.POSITIVE_INFINITY) return;
    slotOf(this.#due).delete(this);
    this.#dueIn(1);
  }

  tick(): void {
    if (this.#due === Number.POSITIVE_INFINITY) return;
    slotOf(this.#due).delete(this);
    this.#dueIn(1);
    const ticks = Math.min(Math.floor(this.#act() / tickMs), mostTicks - 1);
    if (ticks < 2 || this.#due === Number.POSITIVE_INFINITY) return;
    slotOf(this.#due).delete(this);
    this.#dueIn(ticks);
  }

  #dueIn(ticks: number): void {
    this.#due = lastTick + ticks;
    slotOf(this.#due).add(this);
  }
}

function slotOf(tickNumber: number): Set<TickListener> {
  return slots[tickNumber % mostTicks] as Set<TickListener>;
}

function tickNow(): number {
  return Math.floor(performance.now() / tickMs);
}

/** Also makes up for ticks that a busy process missed. */
function tick(): void {
  const target = tickNow();
  lastTick = Math.max(lastTick, target - mostTicks);
  while (lastTick < target) {
    lastTick++;
    for (const listener of [...slotOf(lastTick)]) listener.tick();
  }
}
