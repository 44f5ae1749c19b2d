/**
 * Measures a status read over HTTP among 100,000 messages, relative to a bare HyperExpress handler.
 * Run: node --expose-gc --import tsx bench/http-read.ts
 */
import { runScenarios } from './run-scenarios.ts';

await runScenarios(['read']);
