/**
 * The clients of docs/double-sends.md: each is run by the page's own command, as it is printed and
 * with the `request_id` that the page adds.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fencedBlocksOf, root } from '../testkit/doc-commands.ts';
import { loader, program } from '../testkit/processes/program.ts';

export interface PageClient {
  readonly file: string;
  readonly line: string;
  readonly text: string;
}

const page = fencedBlocksOf('docs/double-sends.md');

/** Each program of the page, with the command before it. */
export const pageClients: readonly PageClient[] = page.flatMap(({ text }, at) => {
  const [, file] = /^(?:\/\/|#) (\S+)\n/.exec(text) ?? [];
  return file === undefined ? [] : [{ file, line: page[at - 1]?.text.trim() ?? '', text }];
});

interface Explored {
  readonly exitCode: number;
  readonly printed: string;
}

/** Explores the client as printed, and with a `request_id`. */
export async function verdictsOn({ file, line, text }: PageClient) {
  const asPrinted = await explored(file, line, text);
  const withId = text.replace('"message": "Hello"', '$&, "request_id": "order-17"');
  return { asPrinted, mended: await explored(file, line, withId) };
}

function explored(file: string, line: string, text: string): Promise<Explored> {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-double-sends-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, file), text);
  // Debian's Python has the libraries.
  const here = line
    .replace('npx smstwin', [process.execPath, ...loader, program].join(' '))
    .replace('python3', '/usr/bin/python3');
  return new Promise((resolve) => {
    execFile('sh', ['-c', `${here} 2>&1`], { cwd: folder }, (error, printed) => {
      rmSync(folder, { recursive: true });
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, printed });
    });
  });
}
