/** Makes a Node command run on the scaled clock (`--rate`). */
import { pathToFileURL } from 'node:url';
import { shippedPath } from '../commands/shipped-files.ts';

/**
 * The `NODE_OPTIONS` that load `smstwin/clock` first. In a checkout the clock is TypeScript, which
 * needs `tsx`.
 */
export function nodeOptionsOfClock(): string {
  const isCheckout = import.meta.url.endsWith('.ts');
  const clock = isCheckout
    ? new URL('../testing/clock.ts', import.meta.url).href
    : pathToFileURL(shippedPath('clock.js')).href;
  const compiler = isCheckout ? `--import=${import.meta.resolve('tsx')} ` : '';
  return `${compiler}--import=${clock}`;
}
