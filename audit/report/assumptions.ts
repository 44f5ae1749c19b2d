/** The assumptions under which `smstwin serve` is this limiter, as far as it can be. */
import type { AlgorithmValue, Statements } from '../statements.ts';

/** Undefined where the simulator has no such limiter. */
const refills: Partial<Readonly<Record<AlgorithmValue, string>>> = {
  sliding_log: 'sliding',
  token_bucket: 'continuous',
  fixed_window: 'interval',
  aligned_window: 'interval_aligned',
  sliding_counter: 'sliding_counter',
};

/** A file in YAML. What the simulator cannot be is said in comments. */
export function assumptionsText({ algorithm, limit, window_seconds, ...rest }: Statements): string {
  const { refusals_spend: refusals, errors_spend: errors, retry_after: retryAfter } = rest;
  const refill = algorithm.value === null ? undefined : refills[algorithm.value];
  const lines = ['# What an audit learned of a rate limiter.'];
  const missing: string[] = [];
  if (refill === undefined) missing.push(`the algorithm: ${algorithm.sentence}`);
  else lines.push(`limiterRefill: ${refill}`);
  if (refusals.value === null) missing.push(`whether refusals count: ${refusals.sentence}`);
  else lines.push(`refusedSpendsToken: "${refusals.value ? 'yes' : 'no'}"`);
  if (errors.value === null) missing.push(`whether errors count: ${errors.sentence}`);
  else lines.push(`errorsSpendToken: "${errors.value ? 'yes' : 'no'}"`);
  if (limit.value !== null) lines.push(`# Add to serve: --limit send=${limit.value}`);
  if (window_seconds.value !== 60)
    missing.push(`a window of ${window_seconds.value ?? 'unknown'} s: the simulator's is a minute`);
  if (retryAfter.value !== 'exact' && retryAfter.value !== null)
    missing.push(`a Retry-After that is ${retryAfter.value}: set it by a fault`);
  return `${[...lines, ...missing.map((line) => `# Missing: ${line}`)].join('\n')}\n`;
}
