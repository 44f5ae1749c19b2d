/**
 * Runs every command and snippet of the README and of the pages in `docs/`: here, or where a
 * comment says. Only ports and file names differ. A command that no test runs fails the first test.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
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

// Whole commands, several at once, also on a slow machine.
vi.setConfig({ testTimeout: 60_000 });

const servers = new DocServers();
afterAll(() => servers.end());

const packageTest = readFileSync(join(root, 'verify/package/package.release.test.ts'), 'utf8');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly files: readonly string[];
  readonly scripts: Readonly<Record<string, string>>;
};
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const commands = commandsOf('README.md');

function command(start: string): string {
  const found = commands.filter((line) => line.startsWith(start));
  expect(found, `the README has one command that starts with ${start}`).toHaveLength(1);
  return found[0] ?? '';
}

const sends = 'curl -sS http://127.0.0.1:8080/api/v1/sms/send/ ';
const reads = 'curl -sS http://127.0.0.1:8080/api/v1/sms/$MESSAGE_ID/ ';
const advances = 'curl -sS http://127.0.0.1:8081/control/clock/advance ';
const addsFault = 'curl -sS http://127.0.0.1:8081/control/faults ';
const servesInContainer = 'npm start -- --host 0.0.0.0 ';
const conforms = 'npm run conform -- http://127.0.0.1:8080 ';
/** Run with the package: an installation, and half a minute of load. */
const runWithPackage = [
  `npm install ./smstwin-${manifest.version}.tgz`,
  'npx smstwin serve',
  'npm run bench -- --scenario throttled --duration 2s',
];

test('every command of the README is run by a test', () => {
  const runHere = [sends, reads, advances, addsFault, servesInContainer, conforms];
  const parts = ['npm ci', 'npm start', 'npm test', 'npm run conform'];
  const recorded = ['npm start -- --journal ', 'npm run smstwin -- ', 'npx smstwin explore '];
  for (const line of commands.flatMap((each) => each.split(' && '))) {
    const isKnown =
      parts.includes(line) ||
      runWithPackage.includes(line) ||
      [...runHere, ...recorded].some((start) => line.startsWith(start));
    expect(isKnown, line).toBe(true);
  }
  const tarball = `smstwin-${manifest.version}.tgz`;
  for (const line of runWithPackage) {
    expect(packageTest).toContain(line.replace(tarball, '$' + '{tarball}'));
  }
});

test('the first block of the README serves, the second tests; CI runs their parts from a fresh clone', () => {
  expect(commands.slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  const ci = readFileSync(join(root, '.ci/run'), 'utf8');
  for (const line of ['npm ci', 'npm run test:all']) expect(ci).toContain(`quietly ${line}`);
  const all = manifest.scripts['test:all']?.replace(/SMSTWIN_RUNS=\d+ /, '') ?? '?';
  expect(all.startsWith(manifest.scripts['test'] ?? '-')).toBe(true);
});

test('the README takes a newcomer from npm start to delivered, through a day and a lost reply', async () => {
  const served = await servers.serve('npm start -- --clock manual');
  const key = { KEY: served.ready.accounts[0]?.api_key ?? '' };
  const send = withUrlsOf(served, command(sends));
  const message = JSON.parse(await shell(send, key)) as Record<string, string>;
  expect(message['status']).toBe('queued');
  const before = Date.parse(message['created_at'] ?? '');
  const advanced = JSON.parse(await shell(withUrlsOf(served, command(advances)))) as {
    now: string;
  };
  expect(Date.parse(advanced.now)).toBe(before + 24 * 60 * 60 * 1000);
  const status = await shell(withUrlsOf(served, command(reads)), {
    ...key,
    MESSAGE_ID: message['message_id'] ?? '',
  });
  expect(JSON.parse(status)).toMatchObject({ status: 'delivered' });

  await shell(withUrlsOf(served, command(addsFault)));
  await shell(send, key);
  await shell(send, key);
  // curl's exit code 52: the server closed without a reply.
  await expect(shell(send, key)).rejects.toMatchObject({ code: 52 });
  const state = (await (await fetch(`${served.controlUrl}/control/messages`)).json()) as {
    messages: unknown[];
  };
  expect(state.messages).toHaveLength(4);
  await served.stop();
});

test('the README serves a container: the control port is reached by name, with the token', async () => {
  const served = await servers.serve(command(servesInContainer));
  const ask = (host: string, token: string) =>
    shell(
      `curl -sS -o /dev/null -w '%{http_code}' -H 'Host: ${host}' -H 'Authorization: Bearer ${token}' ${served.controlUrl}/control/health`,
    );
  expect(await ask('smstwin:8081', 's3cret')).toBe('200');
  expect(await ask('smstwin:8081', 'other')).toBe('401');
  expect(await ask('other:8081', 's3cret')).toBe('403');
  await served.stop();
});

test('the README records a run, replays it and judges its client', async () => {
  const journal = join(servers.folder, 'run.ndjson');
  const onFile = (line: string) => line.replace('run.ndjson', journal);
  const recording = onFile(command('npm start -- --journal '));
  const served = await servers.serve(recording);
  await shell(withUrlsOf(served, command(sends)), { KEY: served.ready.accounts[0]?.api_key ?? '' });
  await served.stop();
  expect(await shell(onFile(command('npm run smstwin -- replay ')))).toMatch(
    /1 input replayed: every reply is the same/,
  );
  expect(await shell(onFile(command('npm run smstwin -- referee ')))).toContain('1 exchange: ');
});

test('the README checks a simulator of its own, and one that runs', async () => {
  const served = await servers.serve('npm start -- --clock manual');
  expect(await shell(`${withUrlsOf(served, command(conforms))} SEND-3`)).toMatch(/passed/);
  await served.stop();
  const own = commands.filter((known) => known === 'npm run conform');
  expect(await shell(`${own[0]} -- SEND-3`)).toMatch(/passed/);
});

/** Snippets for a test runner are run with the package, where the runner is a user's own. */
const runner = "'smstwin/vitest'";

test.each(['README.md', 'docs/embedding.md'])('the TypeScript in %s runs', async (page) => {
  const snippets = fencedBlocksOf(page).filter(
    ({ language, text }) => language === 'ts' && !text.includes(runner),
  );
  expect(snippets.length).toBeGreaterThan(0);
  for (const [index, { text }] of snippets.entries()) {
    const file = join(root, `src/readme-${process.pid}-${index}.mts`);
    writeFileSync(file, text.replace("'smstwin'", JSON.stringify(join(root, 'src/simulator.ts'))));
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
    const [, file = ''] = /^(?:\/\/|#) (\S+)\n/.exec(text) ?? [];
    const start = ['--clock scaled', '--clock manual', '--seed 7', 'faketime'].find((one) =>
      text.includes(one),
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

test('every page is linked from the README', () => {
  expect(pages.filter((page) => !readme.includes(`(docs/${page})`))).toEqual([]);
});

test.each(['README.md', 'bench/README.md', ...pages.map((page) => `docs/${page}`)])(
  'the links of %s lead to files that the package holds',
  (page) => {
    const isShipped = (path: string) =>
      manifest.files.some((shipped) =>
        shipped.endsWith('/*.md')
          ? path.startsWith(shipped.slice(0, -4)) && pages.includes(path.slice(5))
          : path === shipped,
      );
    const paths = linksOf(page).map((link) => normalize(join(page, '..', link)));
    expect(paths.filter((path) => !isShipped(path))).toEqual([]);
  },
);
