/**
 * One real timer, with a tick every 25 ms, that advances the clocks of all worlds of the process. A
 * clock says for how long it has nothing to do, up to a second, and is not called until then, so
 * thousands of idle worlds cost next to nothing. The timer does not keep the process running.
 */
// A test may fake the global timers; this timer outlives the test.
import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';

const tickMs = 25;
/**
 * The ticks of one turn of the wheel, a second. Each clock is called at least once a turn, because
 * real time may jump.
 */
const wheelTicks = 40;

/** The next tick of a listener that is stopped. */
const stopped = Number.POSITIVE_INFINITY;

/** The listeners due at each tick, by the tick's number modulo `wheelTicks`. */
const slots = Array.from({ length: wheelTicks }, () => new Set<TickListener>());
let lastTick = 0;
let listening = 0;
let timer: NodeJS.Timeout | undefined;

export class TickListener {
  readonly #act: () => number;
  /** The number of the tick that calls it next, or `stopped`. */
  #due = stopped;

  /** `act` returns for how many real milliseconds it need not be called. */
  constructor(act: () => number) {
    this.#act = act;
  }

  start(): void {
    if (this.#due !== stopped) return;
    if (listening++ === 0) {
      lastTick = tickNow();
      timer = setInterval(tick, tickMs).unref();
    }
    this.#dueIn(1);
  }

  stop(): void {
    if (this.#due === stopped) return;
    slotOf(this.#due).delete(this);
    this.#due = stopped;
    if (--listening === 0) clearInterval(timer);
  }

  /** Asks for a call at the next tick, because something may be due earlier than `act` returned. */
  hurry(): void {
    if (this.#due <= lastTick + 1 || this.#due === stopped) return;
    slotOf(this.#due).delete(this);
    this.#dueIn(1);
  }

  call(): void {
    if (this.#due === stopped) return;
    slotOf(this.#due).delete(this);
    // Registered before `act`, which may call `hurry` or `stop`.
    this.#dueIn(1);
    const ticks = Math.min(Math.floor(this.#act() / tickMs), wheelTicks - 1);
    if (ticks < 2 || this.#due === stopped) return;
    slotOf(this.#due).delete(this);
    this.#dueIn(ticks);
  }

  #dueIn(ticks: number): void {
    this.#due = lastTick + ticks;
    slotOf(this.#due).add(this);
  }
}

function slotOf(tickNumber: number): Set<TickListener> {
  return slots[tickNumber % wheelTicks] as Set<TickListener>;
}

function tickNow(): number {
  return Math.floor(performance.now() / tickMs);
}

/** Runs the ticks up to now, including those that a busy process missed. */
function tick(): void {
  const target = tickNow();
  lastTick = Math.max(lastTick, target - wheelTicks);
  while (lastTick < target) {
    lastTick++;
    for (const listener of [...slotOf(lastTick)]) listener.call();
  }
}
