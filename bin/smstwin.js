#!/usr/bin/env node
// Runs the sources in a checkout, even if an old build is there, and the build in the package.
import { existsSync } from 'node:fs';

const sources = new URL('../cli/main.ts', import.meta.url);
try {
  if (existsSync(sources)) {
    const { register } = await import('tsx/esm/api');
    register();
    await import(sources.href);
  } else {
    await import('../dist/main.js');
  }
} catch (error) {
  if (error.code !== 'EMFILE') throw error;
  console.error('smstwin: too many open files; raise the limit, as with ulimit -n 1024');
  process.exitCode = 1;
}
