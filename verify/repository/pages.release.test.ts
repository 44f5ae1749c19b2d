/**
 * Runs every command of the README and of the pages in `docs/`, twice in one folder: those of npm
 * in a copy of this checkout, all others in a project that has the package.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyProject, ofCheckout, packed, tarball } from '../package/packed.ts';
import { commandsOf, fencedBlocksOf, root, shell } from '../testkit/doc-commands.ts';
import { entryOf, killGroups, leftOut, PageRun, pages } from './pages.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-pages-'));
const checkout = join(folder, 'checkout');
const project = emptyProject(folder, 'project');
const path = process.env['PATH'];
const notCopied = ['node_modules', '.git', 'build', 'dist'];

beforeAll(async () => {
  cpSync(root, checkout, {
    recursive: true,
    filter: (file) => !notCopied.includes(relative(root, file)),
  });
  // As in a fresh clone. The README's first command does it again, as printed.
  await shell('npm ci', {}, checkout);
  const tools = ofCheckout('vitest', 'axios', 'axios-retry', 'got', 'ky', 'autocannon');
  await shell(`npm install ${packed} ${tools} bullmq@5`, {}, project);
  copyFileSync(packed, join(project, tarball));
  await shell("npm pkg set scripts.test='node with-axios.mjs'", {}, project);
  for (const { text } of pages.flatMap(fencedBlocksOf)) {
    const [, name] = /^(?:<\?php\n)?(?:\/\/|#|--) (\w[\w.-]*\.\w+)\n/.exec(text) ?? [];
    if (name !== undefined) writeFileSync(join(project, name), text);
  }
  const [lua] = fencedBlocksOf('docs/load-testing.md').filter(({ language }) => language === 'lua');
  writeFileSync(join(project, 'send.lua'), lua?.text ?? '');
  // Debian's Python has the libraries of the pages.
  mkdirSync(join(folder, 'bin'));
  symlinkSync('/usr/bin/python3', join(folder, 'bin', 'python3'));
  process.env['PATH'] = `${join(folder, 'bin')}:${join(project, 'node_modules/.bin')}:${path}`;
});
process.on('exit', killGroups);
afterAll(() => {
  killGroups();
  process.env['PATH'] = path;
  rmSync(folder, { recursive: true });
});

/** The program of a command; in CI none may be missing, except Go, which takes 460 MB. */
function missingToolOf(line: string): string | undefined {
  const [tool = ''] = line.split(' ').filter((word) => !word.includes('='));
  if (['export', 'smstwin'].includes(tool)) return undefined;
  if (process.env['CI'] !== undefined && tool !== 'go') return undefined;
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`]);
    return undefined;
  } catch {
    return tool;
  }
}

test('what is not run is printed, with the reason', () => {
  const all = pages.flatMap((page) => commandsOf(page).map((line) => ({ page, line })));
  const notRun = all.flatMap(({ page, line }) => {
    const tool = missingToolOf(line);
    const reason = entryOf(leftOut, line) ?? (tool && `${tool} is not installed`);
    return reason === undefined ? [] : [`not run: ${page}: ${line}\n  ${reason}`];
  });
  console.log(`${all.length - notRun.length} commands are run\n${notRun.join('\n')}`);
  expect(notRun.length).toBeGreaterThan(0);
});

for (const page of pages.filter((each) => commandsOf(each).length > 0)) {
  const commands = commandsOf(page).filter((line) => entryOf(leftOut, line) === undefined);
  const missing = commands.flatMap((line) => missingToolOf(line) ?? []);
  const name = missing.length === 0 ? page : `${page} (without ${missing.join(', ')})`;
  test(`the commands of ${name} work as printed, twice in a row`, async () => {
    for (const _ of [1, 2]) {
      const run = new PageRun({ checkout, project });
      try {
        for (const line of commands) if (missingToolOf(line) === undefined) await run.run(line);
      } finally {
        await run.end();
      }
    }
    expect(commands.length).toBeGreaterThan(0);
  }, 1_800_000);
}
