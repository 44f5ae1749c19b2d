/** What Vitest runs before each test file: the same random values in every run. */
import { drawFromSeed } from './runs.ts';

drawFromSeed();
