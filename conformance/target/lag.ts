/**
 * How late this process does its own work. On a machine that is too busy, requests leave and replies
 * are read later than the harness believes: what it measured meanwhile proves nothing about a limit.
 */

/** The time between two beats of the timer that notices a delay. */
const beatMs = 100;
/** A limit of 120 a minute regains two tokens in this time, so such a delay can change a verdict. */
const tooLateMs = 1_000;

export class Lag {
  readonly #timer = setInterval(() => this.#beat(), beatMs).unref();
  #beatAt = performance.now();
  #lateUntil = Number.NEGATIVE_INFINITY;
  /** How often the process stood still for a second or longer. */
  times = 0;
  longestMs = 0;

  /** True if the process stood still for a second or longer since then (`performance.now()`). */
  isLateSince(startedAt: number): boolean {
    this.#beat();
    return this.#lateUntil >= startedAt;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const now = performance.now();
    const lateMs = now - this.#beatAt - beatMs;
    this.#beatAt = now;
    if (lateMs < tooLateMs) return;
    this.#lateUntil = now;
    this.times += 1;
    this.longestMs = Math.max(this.longestMs, lateMs);
  }
}
