/**
 * What does a status read among 100,000 messages cost over HTTP, beside a bare HyperExpress handler?
 * Run: node --expose-gc --import tsx bench/http-read.ts
 */
import { runScenarios } from './run-scenarios.ts';

await runScenarios(['read']);
