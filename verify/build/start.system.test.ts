import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ServedProcess } from '../testkit/processes/served-process.ts';
import { root } from './bundle-options.ts';

const record = `${root}build/start/bundle.json`;
const source = `${root}cli/main.ts`;
const bundle = () => JSON.parse(readFileSync(record, 'utf8')).path;

test('npm start uses the last bundle until a source has changed, and serves its own page', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-start-'));
  const start = async () => {
    const served = await ServedProcess.startCommand(folder, 'npm start --', root);
    try {
      const page = await fetch(`${served.controlUrl}/`);
      expect([page.status, page.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching('html'),
      ]);
    } finally {
      await served.stop();
    }
    return bundle();
  };
  const { atime, mtime } = statSync(source);
  try {
    const first = await start();
    expect(await start()).toBe(first);
    utimesSync(source, atime, new Date(mtime.getTime() + 1_000));
    const second = await start();
    expect(second).not.toBe(first);
    expect(await start()).toBe(second);
  } finally {
    utimesSync(source, atime, mtime);
    rmSync(folder, { recursive: true });
  }
});
