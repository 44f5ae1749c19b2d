/** Makes a Node command run on the scaled clock (`--rate`). */

/**
 * The `NODE_OPTIONS` that load `smstwin/clock` first. In a checkout the clock is TypeScript, which
 * needs `tsx`.
 */
export function nodeOptionsOfClock(): string {
  const isCheckout = import.meta.url.endsWith('.ts');
  const clock = new URL(isCheckout ? '../testing/clock.ts' : './clock.js', import.meta.url).href;
  const compiler = isCheckout ? `--import=${import.meta.resolve('tsx')} ` : '';
  return `${compiler}--import=${clock}`;
}
