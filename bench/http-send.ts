/**
 * Measures a send over HTTP, relative to a bare HyperExpress handler.
 * Run: node --expose-gc --import tsx bench/http-send.ts
 */
import { runScenarios } from './run-scenarios.ts';

await runScenarios(['send', 'throttled']);
