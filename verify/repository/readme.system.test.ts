/**
 * Runs every command and snippet of the README and of the pages in `docs/`: here, or where a
 * comment says. Only ports and file names differ. A command that no test runs fails the first test.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseSettings } from '#src/config/settings.ts';
import {
  commandsOf,
  DocServers,
  fencedBlocksOf,
  linksOf,
  root,
  shell,
  withUrlsOf,
} from '../testkit/doc-commands.ts';

const servers = new DocServers();
afterAll(() => servers.end());

const packageTest = readFileSync(join(root, 'verify/package/package.release.test.ts'), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly files: readonly string[];
  readonly scripts: Readonly<Record<string, string>>;
};
const commands = commandsOf('README.md');

/** The one command of a page with this start, as one writes it in a checkout. */
function command(page: string, start: string): string {
  const found = commandsOf(page).filter((line) => line.startsWith(start));
  expect(found, `${page} has one command that starts with ${start}`).toHaveLength(1);
  return (found[0] ?? '')
    .replace(/^(npx )?smstwin serve/, 'npm start --')
    .replace(/^(npx )?smstwin/, 'npm run -s smstwin --');
}

test('the first block of the README serves, the second tests; CI runs their parts from a fresh clone', () => {
  expect(commands.slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  const ci = readFileSync(join(root, '.ci/run'), 'utf8');
  for (const line of ['npm ci', 'npm run test:all']) expect(ci).toContain(`quietly ${line}`);
  const { test: some = '-', 'test:all': all = '?' } = manifest.scripts;
  expect(all.startsWith(some)).toBe(true);
});

test('the README is no longer than a newcomer reads, and has the screen that it needs first', () => {
  const lines = readFileSync(join(root, 'README.md'), 'utf8').split('\n');
  expect(lines.length).toBeLessThanOrEqual(121);
  const screen = lines.slice(0, 60).join('\n');
  for (const part of ['npm ci && npm start', 'npm ci && npm test', 'npx smstwin serve', 'CLIENT-5'])
    expect(screen).toContain(part);
});

test('the README takes a newcomer from npm start through a replay and a day to a verdict', async () => {
  const served = await servers.serve('npm start');
  const byHand = commands.slice(commands.findIndex((line) => line.startsWith('export KEY=')));
  const [key = '', send = '', ...others] = byHand.map((line) => withUrlsOf(served, line));
  const sent = `${key}; ${send} -w ' %{http_code}'`;
  expect(await shell(sent)).toMatch(/"status":"queued".* 202$/);
  expect(await shell(sent)).toMatch(/"status":"queued".* 200$/);
  const replies: string[] = [];
  for (const line of others) replies.push(await shell(line));
  const [advanced = '', found = '', judged = ''] = replies;
  expect(Date.parse(JSON.parse(advanced).now)).toBeGreaterThan(Date.now() + 23 * 3_600_000);
  expect(JSON.parse(found).messages).toMatchObject([{ status: 'delivered' }]);
  expect(JSON.parse(judged)).toMatchObject({ exchanges: 2, intents: { accepted: 1 } });
  expect(judged).not.toMatch(/"verdict":"(failed|advice)"/);
  await served.stop();
});

test('the control port is reached by name, with the token, as its page says', async () => {
  const served = await servers.serve(command('docs/control-api.md', 'npm start -- --host'));
  const ask = (host: string, token: string) =>
    shell(
      `curl -sS -o /dev/null -w '%{http_code}' -H 'Host: ${host}' -H 'Authorization: Bearer ${token}' ${served.controlUrl}/control/health`,
    );
  expect(await ask('smstwin:8081', 's3cret')).toBe('200');
  expect(await ask('smstwin:8081', 'other')).toBe('401');
  expect(await ask('other:8081', 's3cret')).toBe('403');
  await served.stop();
});

test('the page for client developers records a run, replays it and judges its client', async () => {
  const page = 'docs/start-client.md';
  const journal = join(servers.folder, 'run.ndjson');
  const onFile = (start: string) => command(page, start).replace('run.ndjson', journal);
  const served = await servers.serve(onFile('npx smstwin serve --journal '));
  const env = { SMSTWIN_BASE_URL: served.baseUrl, SMSTWIN_FROM: '+12025550101' };
  const [client] = fencedBlocksOf(page).filter(({ text }) => text.includes('my-client.mjs'));
  const file = join(servers.folder, 'my-client.mjs');
  writeFileSync(file, client?.text ?? '');
  const key = served.ready.accounts[0]?.api_key ?? '';
  await shell(`node ${file}`, { ...env, SMSTWIN_API_KEY: key });
  await served.stop();
  expect(await shell(onFile('npx smstwin replay '))).toMatch(
    /1 input replayed: every reply is the same/,
  );
  expect(await shell(onFile('npx smstwin referee '))).toContain('1 exchange: ');
});

test('the page about conformance checks a simulator of its own, and one that runs', async () => {
  const served = await servers.serve('npm start -- --clock manual');
  const line = command(
    'docs/conformance.md',
    'smstwin conform http://127.0.0.1:8080 --control-url http://127.0.0.1:8081 --d',
  );
  expect(await shell(`${withUrlsOf(served, line).split(' --discover')[0]} SEND-3`)).toMatch(
    /passed/,
  );
  await served.stop();
  expect(await shell('npm run conform -- SEND-3')).toMatch(/passed/);
});

/** Snippets for a test runner are run with the package, where the runner is a user's own. */
const runner = "'smstwin/vitest'";

test.each(['docs/embedding.md'])('the TypeScript in %s runs', async (page) => {
  const snippets = fencedBlocksOf(page).filter(
    ({ language, text }) => language === 'ts' && !text.includes(runner),
  );
  expect(snippets.length).toBeGreaterThan(0);
  for (const [index, { text }] of snippets.entries()) {
    const file = join(root, `build/readme-${process.pid}-${index}.mts`);
    writeFileSync(file, text.replace("'smstwin'", JSON.stringify(join(root, 'src/api.ts'))));
    try {
      const output = await shell(`node --import tsx ${file}`, { NODE_OPTIONS: '' });
      expect(output).not.toContain('Error');
    } finally {
      rmSync(file);
    }
  }
});

test('the snippet for Vitest is run with the package', () => {
  const snippets = fencedBlocksOf('docs/embedding.md').filter(({ text }) => text.includes(runner));
  expect(snippets).toHaveLength(1);
  expect(packageTest).toContain(`snippet('docs/embedding.md', "${runner}")`);
});

test('every recipe of docs/testing.md is run with the package', () => {
  const recipes = readFileSync(join(root, 'verify/package/recipes.release.test.ts'), 'utf8');
  const lines = commandsOf('docs/testing.md');
  for (const { language, text } of fencedBlocksOf('docs/testing.md')) {
    const [, file = ''] = /^(?:<\?php\n)?(?:\/\/|#) (\S+)\n/.exec(text) ?? [];
    const start = ['--clock scaled', '--clock manual', '--seed 7', '--seed 8', 'faketime'].find(
      (one) => text.includes(one),
    );
    const isRun = recipes.includes(file) || lines.some((line) => `${line} `.includes(` ${file} `));
    expect(language === 'sh' ? recipes.includes(`'${start}'`) : file !== '' && isRun, text).toBe(
      true,
    );
  }
});

test('the world file of the docs is a world', () => {
  const [world] = fencedBlocksOf('docs/world-files.md').filter(
    ({ language }) => language === 'yaml',
  );
  expect(world).toBeDefined();
  expect(parseSettings({ world: parse(world?.text ?? '') }).world.accounts).toHaveLength(2);
});

const pages = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));

test.each(['README.md', 'bench/README.md', ...pages.map((page) => `docs/${page}`)])(
  'the links of %s lead to files that the package holds',
  (page) => {
    const isShipped = (path: string) =>
      manifest.files.some((shipped) =>
        shipped.endsWith('/*.md')
          ? path.startsWith(shipped.slice(0, -4)) && pages.includes(path.slice(5))
          : path === shipped || path === 'README.md' || path.startsWith(`${shipped}/`),
      );
    const paths = linksOf(page).map((link) => normalize(join(page, '..', link)));
    expect(paths.filter((path) => !isShipped(path))).toEqual([]);
  },
);
