/** Reads commands and snippets from the documentation, runs them, and starts servers with them. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ServedProcess } from './processes/served-process.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Block {
  readonly language: string;
  readonly text: string;
}

export function fencedBlocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', body = '']) => ({
    language,
    text: body,
  }));
}

/** The commands of a page; one that goes on in the next line is one command. */
export function commandsOf(page: string): readonly string[] {
  return fencedBlocksOf(page)
    .filter(({ language }) => ['sh', 'bash'].includes(language))
    .flatMap(({ text }) =>
      text
        .trim()
        .replaceAll(/\\\n\s*/g, '')
        .split('\n'),
    );
}

/** The relative links of a page, without anchors. */
export function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^https?:/.test(link));
}

/**
 * Runs a command line as printed. Resolves to its output; rejects, with all that was printed, if
 * its exit code is not 0.
 */
export async function shell(
  line: string,
  env: Readonly<Record<string, string>> = {},
  cwd = root,
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1_048_576 };
  try {
    return (await promisify(execFile)('sh', ['-c', line], options)).stdout;
  } catch (error) {
    throw Object.assign(error as Error, { message: `${error}\n${Object(error).stdout}` });
  }
}

/** Servers started by printed commands, on their own ports; `end` kills the ones still running. */
export class DocServers {
  readonly folder = mkdtempSync(join(tmpdir(), 'smstwin-pages-'));
  readonly #started: ServedProcess[] = [];

  async serve(line: string): Promise<ServedProcess> {
    // `startCommand` appends flags, which npm passes to its script only after `--`.
    const separator = line.includes(' -- ') ? '' : ' --';
    const served = await ServedProcess.startCommand(this.folder, `${line}${separator}`, root);
    this.#started.push(served);
    return served;
  }

  async end(): Promise<void> {
    for (const served of this.#started) await served.kill();
    rmSync(this.folder, { recursive: true });
  }
}

/** The line with this server's URLs instead of the printed ones. */
export function withUrlsOf(served: ServedProcess, line: string): string {
  return line
    .replaceAll('http://127.0.0.1:8080', served.baseUrl)
    .replaceAll('http://127.0.0.1:8081', served.controlUrl);
}
