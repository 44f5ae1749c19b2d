/**
 * Commands and snippets as the pages print them, and servers started by such a command.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import type { ReadyFile } from '../../src/simulator.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Block {
  readonly language: string;
  readonly text: string;
}

export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', body = '']) => ({
    language,
    text: body,
  }));
}

/** Each line of a page's `sh` blocks. */
export function commandsOf(page: string): readonly string[] {
  return blocksOf(page)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.trim().split('\n'));
}

/** Relative links of a page, without their anchors. */
export function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^https?:/.test(link));
}

/**
 * Runs a command line as it is printed. Resolves to what it printed; rejects unless it ends with 0.
 */
export async function shell(
  line: string,
  env: Readonly<Record<string, string>> = {},
  cwd = root,
): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env } };
  const { stdout } = await promisify(execFile)('sh', ['-c', line], options);
  return stdout;
}

export interface DocServer {
  readonly served: ReadyFile;
  /** The line with this server's URLs in place of the printed ones. */
  readonly here: (line: string) => string;
  readonly stop: () => Promise<void>;
}

/** Starts servers by printed commands, on ports of their own; `end` kills those that still run. */
export class DocServers {
  readonly folder = mkdtempSync(join(tmpdir(), 'smstwin-pages-'));
  readonly #children: ChildProcess[] = [];

  async serve(line: string): Promise<DocServer> {
    const readyFile = join(this.folder, `ready-${this.#children.length}.json`);
    const separator = line.includes(' -- ') ? '' : ' --';
    const command = `${line}${separator} --port 0 --control-port 0 --ready-file ${readyFile}`;
    const child = spawn('sh', ['-c', `exec ${command}`], {
      cwd: root,
      stdio: 'ignore',
      detached: true,
    });
    this.#children.push(child);
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    await vi.waitUntil(() => existsSync(readyFile), { timeout: 30_000, interval: 50 });
    const served = JSON.parse(readFileSync(readyFile, 'utf8')) as ReadyFile;
    return {
      served,
      here: (text) =>
        text
          .replaceAll('http://127.0.0.1:8080', served.base_url)
          .replaceAll('http://127.0.0.1:8081', served.control_url ?? ''),
      stop: async () => {
        process.kill(served.pid, 'SIGTERM');
        await ended;
      },
    };
  }

  end(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true });
  }
}
