/**
 * Runs the recipes of `docs/load-testing.md`. Debian has wrk and hey. If one is missing, its recipe
 * is skipped with a message; in CI, which installs them, that is a failure. k6 is not in Debian, so
 * its script is only parsed.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  commandsOf,
  DocServers,
  fencedBlocksOf,
  shell,
  withUrlsOf,
} from '../testkit/doc-commands.ts';
import type { ServedProcess } from '../testkit/processes/served-process.ts';

const page = 'docs/load-testing.md';
const [start = '', ...recipes] = commandsOf(page);
const loads = recipes.filter((line) => !line.startsWith('curl '));
const servers = new DocServers();
let server: ServedProcess;

beforeAll(async () => {
  server = await servers.serve(start);
  const [script] = fencedBlocksOf(page).filter(({ language }) => language === 'lua');
  writeFileSync(join(servers.folder, 'send.lua'), script?.text ?? '');
});
afterAll(async () => {
  await server.stop();
  await servers.end();
});

function isMissing(tool: string): boolean {
  if (process.env['CI'] !== undefined || tool === 'npx') return false;
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`]);
    return false;
  } catch {
    return true;
  }
}

async function accepted(): Promise<number> {
  const reply = await fetch(`${server.controlUrl}/control/state`);
  const state = (await reply.json()) as { readonly messages: Readonly<Record<string, number>> };
  return Object.values(state.messages).reduce((sum, count) => sum + count, 0);
}

test('the page has a recipe for each tool', () => {
  expect(start).toBe('npm start -- --no-limits');
  expect(loads.map((line) => line.replace('npx ', '').split(' ')[0])).toEqual([
    'wrk',
    'hey',
    'autocannon',
  ]);
});

for (const line of loads) {
  const [tool = ''] = line.split(' ');
  const missing = isMissing(tool);
  test.skipIf(missing)(`${line.slice(0, 20)}… sends${missing ? ` (no ${tool})` : ''}`, async () => {
    const before = await accepted();
    const command = withUrlsOf(server, line).replace('send.lua', join(servers.folder, 'send.lua'));
    const report = await shell(command, { KEY: server.ready.accounts[0]?.api_key ?? '' });
    expect(report).not.toMatch(/Non-2xx|\[[45]\d\d\]\s+\d+ responses|errors/);
    expect((await accepted()) - before).toBeGreaterThan(100);
  });
}

test('the script for k6 parses', () => {
  const [script] = fencedBlocksOf(page).filter(({ language }) => language === 'js');
  expect(transformSync(script?.text ?? '', { loader: 'js' }).warnings).toEqual([]);
  expect(script?.text).toContain('/api/v1/sms/send/');
});

test('the pages to watch are served, and after the load the state is sound', async () => {
  const watched = recipes.filter((line) => line.startsWith('curl '));
  const replies = await Promise.all(watched.map((line) => shell(withUrlsOf(server, line))));
  const [state, requests, buckets, invariants] = replies.map((text) => JSON.parse(text));
  expect(state).toMatchObject({ messages: expect.anything(), memory: expect.anything() });
  expect(requests.requests).toBeInstanceOf(Array);
  expect(buckets).toEqual(expect.anything());
  expect(invariants).toMatchObject({ sound: true, broken: [] });
});
