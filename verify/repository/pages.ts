/**
 * The commands of the README and of the pages in `docs/`, and how `npm run test:pages` runs them as
 * they are printed: a server in the background until the page ends, everything else to its end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#src/http/transport/listening.ts';
import type { ReadyFile } from '#src/simulator.ts';
import { root, shell } from '../testkit/doc-commands.ts';
import { isThere } from './modules.ts';

const docs = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
export const pages = ['README.md', 'bench/README.md', ...docs.map((file) => `docs/${file}`)].filter(
  isThere,
);

const inFreshClone = 'minutes: .ci/run runs it in a fresh clone';
const harness = 'minutes: the tests of verify/harness/ run the same';
const machines = 'is for several machines: verify/fleet/ joins processes on this one';

/** Commands that are not run, by their beginning, and why. */
export const leftOut: Readonly<Record<string, string>> = {
  'npm ci && npm test': inFreshClone,
  'smstwin conform http://127.0.0.1:8080 --api-key':
    'waits for real minutes: verify/harness/ waits',
  'npm run conform:': harness,
  'smstwin serve --host 0.0.0.0 --control-host 0.0.0.0 --control-token T --trust-proxy': machines,
  'smstwin fleet --join': machines,
};

const send =
  'curl -sS $URL/api/v1/sms/send/ -H "Authorization: Bearer $KEY" -H "Content-Type: application/json"' +
  ' -d \'{"to":"+12025550123","from":"+12025550101","message":"Hello"}\'';

interface PageContext {
  /** The exit codes that the page names; 0 if it names none. */
  readonly exits?: readonly number[];
  /** Shell commands that the reader is asked to run before it, and once it serves. */
  readonly before?: string;
  readonly after?: string;
  /** True for a server that the later commands of the page do not use. */
  readonly isUnusedLater?: boolean;
}

/** What pages state about their commands, by the start of the command. */
export const pageContext: Readonly<Record<string, PageContext>> = {
  'npm start -- --journal': { after: send },
  'npx smstwin serve --journal': { after: send },
  'smstwin record': { after: send },
  'npx vitest run sms.test.ts': { exits: [1] },
  'npx smstwin explore --faults throttle,': { exits: [0] },
  'npx smstwin explore --depth 1 ': { exits: [0] },
  'npx smstwin explore ': { exits: [1] },
  // 8: this machine had no core to spare, so the bench states no figure.
  'npx smstwin bench --scenario read': { exits: [0, 8] },
  'go build send.go': { exits: [1] },
  'npm start -- --tls-cert': {
    before:
      'openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.pem',
    isUnusedLater: true,
  },
  'smstwin conform --traffic april': {
    before: 'cp week.ndjson april.ndjson; echo "expected: []" > known.yaml',
  },
};

export function entryOf<T>(table: Readonly<Record<string, T>>, line: string): T | undefined {
  return Object.entries(table).find(([start]) => line.startsWith(start))?.[1];
}

/** Lines that start a server, unless the line itself ends it or only lists what it would do. */
const serves =
  /^((npm ci && )?npm start|npm run serve:defects|(npx |npm run )?smstwin (-- )?(serve|record|fleet))\b(?!.* --list)(?!.* & )/;
const records = /\brecord --upstream/;
/** Lines that need a server: they name its address, or a placeholder for what it prints. */
const usesServer =
  /127\.0\.0\.1|\$(KEY|URL|CA|MESSAGE_ID)|\bURL\b|ask\.go|Ask\.java|sms\.example\.com/;
const loopback = '127.0.0.1';
/** Long enough for `npm ci`. */
const startWithinMs = 500_000;

/** The groups of processes of all servers: a page that fails or takes too long may leave some. */
const groups = new Set<number>();

export function killGroups(): void {
  for (const group of groups) {
    try {
      process.kill(-group, 'SIGKILL');
    } catch {
      // All processes of the group have ended.
    }
  }
  groups.clear();
}

/** Runs the commands of a page in order. */
export class PageRun {
  /** `checkout` and `project`: where npm's scripts are, and where the package is installed. */
  readonly #folders: { readonly checkout: string; readonly project: string };
  readonly #running: ChildProcess[] = [];
  /** The processes that serve, as their ready files say: npm does not pass each signal on. */
  readonly #pids = new Map<ChildProcess, number>();
  #exports = '';
  /** Placeholders of the page; and flags, because faults in pairs take as long as the client does. */
  #env: Record<string, string> = { SMSTWIN_DEPTH: '1', SMSTWIN_TIMEOUT: '30s' };

  constructor(folders: { readonly checkout: string; readonly project: string }) {
    this.#folders = folders;
  }

  /** Rejects if the exit code is not the one that the page names. */
  async run(line: string): Promise<void> {
    const { exits = [0], before, after, isUnusedLater = false } = entryOf(pageContext, line) ?? {};
    if (usesServer.test(line) && this.#running.length === 0) await this.#serve('npm start');
    if (!usesServer.test(line) && !serves.test(line)) await this.end();
    if (before !== undefined) await this.#shell(line, before);
    if (serves.test(line)) {
      const env = { ...this.#env };
      await this.#serve(line);
      if (after !== undefined) await this.#shell(line, after);
      if (isUnusedLater) this.#env = env;
    } else {
      const code = await this.#shell(line, line).then(
        () => 0,
        (error) => {
          if (!exits.includes(error.code)) throw error;
          return error.code;
        },
      );
      if (!exits.includes(code))
        throw new Error(`${line}: exit code ${code}; not as the page says`);
    }
    if (line.startsWith('export ')) this.#exports += `${line}; `;
  }

  /** Ends the servers, the last one first: it may be a proxy of the others. */
  async end(): Promise<void> {
    const failures: string[] = [];
    for (const child of this.#running.splice(0).reverse()) {
      const command = child.spawnargs.at(-1);
      if (child.exitCode !== null || child.signalCode !== null) {
        failures.push(`${command}: ended by itself`);
        continue;
      }
      const exited = once(child, 'exit');
      // A server that did not get ready is in the process group of its command.
      process.kill(this.#pids.get(child) ?? -(child.pid ?? 0), 'SIGTERM');
      const [code] = await exited;
      if (code !== 0) failures.push(`${command}: ended with ${code}`);
    }
    if (failures.length > 0) throw new Error(failures.join('; '));
  }

  #folderOf(line: string): string {
    const isOfCheckout = /^(npm(?! i -D)|rm -f ready)/.test(line);
    return isOfCheckout ? this.#folders.checkout : this.#folders.project;
  }

  /** The line with the URLs of the server that runs. */
  #withUrls(line: string): string {
    const { URL: baseUrl = '', CONTROL_URL: controlUrl = '' } = this.#env;
    return line
      .replaceAll(/http:\/\/127\.0\.0\.1:8080|https:\/\/(staging\.)?sms\.example\.com/g, baseUrl)
      .replaceAll('http://127.0.0.1:8081', controlUrl);
  }

  /** Runs `text` as the line is run. Rejects if the exit code, the error's `code`, is not 0. */
  async #shell(line: string, text: string): Promise<void> {
    const output = await shell(
      this.#withUrls(this.#exports + text),
      this.#env,
      this.#folderOf(line),
    );
    const [, messageId] = /"message_id":"([^"]+)"/.exec(output) ?? [];
    if (messageId !== undefined) this.#env['MESSAGE_ID'] = messageId;
  }

  /** Starts a server in the background, on free ports, and waits until it is ready. */
  async #serve(line: string): Promise<void> {
    const [port, controlPort] = [await freePort(0, loopback), await freePort(0, loopback)];
    const cwd = this.#folderOf(line);
    const readyFile = join(cwd, /--ready-file (\S+)/.exec(line)?.[1] ?? `ready-${port}.json`);
    const ports = { SMSTWIN_PORT: `${port}`, SMSTWIN_CONTROL_PORT: `${controlPort}` };
    // Each server has its own seed: with one seed, the ids of two servers would be equal. A journal
    // continues with the seed that it has.
    const seed = line.includes('--journal ') ? {} : { SMSTWIN_SEED: `${port}` };
    const flags = { ...ports, ...seed, SMSTWIN_READY_FILE: readyFile };
    const env = { ...process.env, ...this.#env, ...flags };
    // A port in the line itself would win over the variables.
    const command = this.#withUrls(line)
      .replace('-port 8081', `-port ${controlPort}`)
      .replace('--port 8080', `--port ${port}`)
      // The last command replaces the shell, so that a signal reaches it.
      .replace(/^(.* && )?/, '$1exec ');
    rmSync(readyFile, { force: true });
    // A process group of its own: `killGroups` ends all of it.
    const child = spawn('sh', ['-c', command], { cwd, env, stdio: 'pipe', detached: true });
    this.#running.push(child);
    if (child.pid !== undefined) groups.add(child.pid);
    const printed: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => void printed.push(String(text)));
    const deadlineMs = performance.now() + startWithinMs;
    while (!existsSync(readyFile)) {
      if (child.exitCode !== null || performance.now() > deadlineMs)
        throw new Error(`${line}: does not start: ${printed.join('')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const ready = JSON.parse(readFileSync(readyFile, 'utf8')) as ReadyFile;
    this.#pids.set(child, ready.pid);
    // A recorder has no key: the key is that of the service behind it.
    if (records.test(line)) this.#env['URL'] = ready.base_url;
    else this.#env = { ...this.#env, ...placeholdersOf(ready) };
  }
}

function placeholdersOf(ready: ReadyFile & { tls_ca_file?: string }): Record<string, string> {
  return {
    URL: ready.base_url,
    CONTROL_URL: ready.control_url ?? '',
    KEY: ready.accounts[0]?.api_key ?? '',
    CA: ready.tls_ca_file ?? '',
  };
}
