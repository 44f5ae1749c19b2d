#!/usr/bin/env node
// In a checkout runs the sources, so that a build left behind never shadows them; in the package what was built.
import { existsSync } from 'node:fs';

const sources = new URL('../cli/main.ts', import.meta.url);
if (existsSync(sources)) {
  const { register } = await import('tsx/esm/api');
  register();
  await import(sources.href);
} else {
  await import('../dist/main.js');
}
