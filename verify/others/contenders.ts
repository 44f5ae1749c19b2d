/**
 * The compared servers: exact versions, input files, and how each is installed and started. All
 * answer the same two routes with the simulator's own bodies.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openApi } from '../../src/openapi/service-document.ts';
import { createSimulator } from '../../src/simulator.ts';

export type Body = Readonly<Record<string, unknown>>;

export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));
export const sendPath = '/api/v1/sms/send/';
/** The only SIM is never polled, so no message progresses while another server is measured. */
const world = {
  accounts: [{ name: 'bench', sims: [{ number: '+12025550101', polling: 'external' }] }],
} as const;

/** The simulator's replies, which the others repeat, and its OpenAPI document. */
export interface Replies {
  readonly apiKey: string;
  readonly send: Body;
  /** The body of a 202, and of a 200. */
  readonly queued: Body;
  readonly read: Body;
  readonly openApi: Body;
}

export async function simulatorReplies(): Promise<Replies> {
  const simulator = await createSimulator({ noLimits: true, world });
  try {
    const apiKey = simulator.readyFile().accounts[0]?.api_key ?? '';
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const send = { to: '+12025550199', from: '+12025550101', message: 'Your code is 492 113.' };
    const init = { method: 'POST', headers, body: JSON.stringify(send) };
    const queued = (await (await simulator.fetch(sendPath, init)).json()) as Body;
    const path = `/api/v1/sms/${queued['message_id']}/`;
    const read = (await (await simulator.fetch(path, { headers })).json()) as Body;
    const described = {
      assumptions: simulator.assumptions.get(),
      limits: simulator.limits.get(),
      baseUrl: 'http://127.0.0.1:8080',
    };
    return { apiKey, send, queued, read, openApi: openApi(described) };
  } finally {
    await simulator.close();
  }
}

export interface Contender {
  readonly name: string;
  /** A sentence that describes the server and its limits. */
  readonly what: string;
  /** A package of npm with its version, this checkout after `npm pack`, or the checkout itself. */
  readonly from: `${string}@${string}` | 'packed' | 'sources';
  /** Writes its input files into its install folder. */
  readonly prepare: (folder: string, replies: Replies) => void;
  /** Node's arguments. */
  readonly argv: (folder: string, port: number) => readonly string[];
  /** Messages created before the measurement. */
  readonly preload: number;
}

const stub = 'a stub: no state, no limits, no time, no validation';
const packed: Contender = {
  name: 'smstwin',
  what: 'this checkout, packed; rate limits off',
  from: 'packed',
  prepare: (folder) => writeJson(folder, 'world.json', world),
  argv: (folder, port) => [
    join(folder, 'node_modules/smstwin/bin/smstwin.js'),
    ...['serve', '--no-limits', '--world', join(folder, 'world.json')],
    ...['--port', `${port}`, '--control-port', '0'],
  ],
  preload: 0,
};

export const contenders: readonly Contender[] = [
  packed,
  {
    ...packed,
    name: 'smstwin-100k',
    what: 'the same, with 100,000 messages before the load',
    preload: 100_000,
  },
  {
    ...packed,
    name: 'smstwin-sources',
    what: 'npm start in a checkout; only its start is measured',
    from: 'sources',
    argv: (folder, port) => {
      const [, ...flags] = packed.argv(folder, port);
      return ['--import', 'tsx', join(projectRoot, 'src/main.ts'), ...flags];
    },
  },
  stubContender('fastify', 'fastify@5.12.8'),
  stubContender('express', 'express@5.3.0'),
  {
    name: 'prism',
    what: 'from our OpenAPI document: validates, but no state, no limits, no time',
    // The last Prism that runs on Node 20; later ones require Node 24.
    from: '@stoplight/prism-cli@5.14.2',
    prepare: (folder, { openApi: document }) =>
      writeJson(folder, 'openapi.json', prismDocument(document)),
    argv: (folder, port) => [
      join(folder, 'node_modules/@stoplight/prism-cli/dist/index.js'),
      ...['mock', join(folder, 'openapi.json'), '--port', `${port}`, '--verboseLevel', 'silent'],
    ],
    preload: 0,
  },
  {
    name: 'mockoon',
    what: stub.replace('a stub', 'from a data file'),
    from: '@mockoon/cli@9.9.0',
    prepare: (folder, replies) => writeJson(folder, 'mockoon.json', mockoonData(replies)),
    argv: (folder, port) => [
      join(folder, 'node_modules/@mockoon/cli/bin/run.js'),
      ...['start', '--data', join(folder, 'mockoon.json'), '--port', `${port}`],
      '--disable-log-to-file',
    ],
    preload: 0,
  },
];

function stubContender(name: string, from: Contender['from']): Contender {
  return {
    name,
    what: stub,
    from,
    prepare: (folder, { queued, read }) => {
      const source = new URL(`./stubs/${name}.mjs`, import.meta.url);
      cpSync(fileURLToPath(source), join(folder, 'server.mjs'));
      writeJson(folder, 'replies.json', { queued, read });
    },
    argv: (folder, port) => [join(folder, 'server.mjs'), `${port}`],
    preload: 0,
  };
}

function writeJson(folder: string, name: string, value: unknown): void {
  writeFileSync(join(folder, name), JSON.stringify(value));
}

/** Prism answers with the lowest 2xx, so its document omits the replay (200). */
export function prismDocument(document: Body): Body {
  const copy = structuredClone(document) as {
    paths: Record<string, { post: { responses: Record<string, unknown> } }>;
  };
  delete copy.paths[sendPath]?.post.responses['200'];
  return copy;
}

/** A data file of Mockoon 9, which fills in what is missing. Templating is off, which is faster. */
export function mockoonData({ queued, read }: Pick<Replies, 'queued' | 'read'>): Body {
  const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  const route = (n: number, method: string, endpoint: string, statusCode: number, body: Body) => ({
    uuid: idOf(n),
    type: 'http',
    method,
    endpoint,
    responses: [
      {
        uuid: idOf(100 + n),
        body: JSON.stringify(body),
        statusCode,
        headers: [{ key: 'Content-Type', value: 'application/json' }],
        bodyType: 'INLINE',
        disableTemplating: true,
        default: true,
      },
    ],
  });
  const routes = [
    route(1, 'post', 'api/v1/sms/send/', 202, queued),
    route(2, 'get', 'api/v1/sms/:message_id/', 200, read),
  ];
  const rootChildren = routes.map(({ uuid }) => ({ type: 'route', uuid }));
  const place = { endpointPrefix: '', port: 3000, hostname: '127.0.0.1' };
  return { uuid: idOf(0), lastMigration: 33, name: 'sms', ...place, routes, rootChildren };
}

export interface Installed {
  readonly folder: string;
  readonly version: string;
  readonly nodeModulesBytes: number | undefined;
}

/** Installs a contender in a folder outside the project; a pinned version is reused. */
export function install({ from }: Contender, parent: string): Installed {
  const isOurs = from === 'packed' || from === 'sources';
  const name = isOurs ? 'smstwin' : from.slice(0, from.lastIndexOf('@'));
  const folder = join(parent, from.replaceAll(/[@/]+/g, '-'));
  mkdirSync(folder, { recursive: true });
  // Has its own manifest, so that npm does not look for one in a parent folder.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const modules = join(folder, 'node_modules');
  if (from === 'sources') {
    return { folder, version: versionIn(projectRoot) ?? '', nodeModulesBytes: undefined };
  }
  let spec: string = from;
  if (from === 'packed') {
    npm(['pack', '--silent', '--pack-destination', folder], projectRoot);
    spec = join(folder, `smstwin-${versionIn(projectRoot)}.tgz`);
    // Sources change without a new version, so npm would keep the old package.
    rmSync(modules, { recursive: true, force: true });
  }
  if (!spec.endsWith(`@${versionIn(join(modules, name))}`)) {
    npm(
      ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error', spec],
      folder,
    );
  }
  const version = versionIn(join(modules, name));
  if (version === undefined) throw new Error(`${spec} is not installed in ${folder}`);
  return { folder, version, nodeModulesBytes: diskBytes(modules) };
}

function npm(argv: readonly string[], cwd: string): void {
  execFileSync('npm', argv, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
}

function versionIn(folder: string): string | undefined {
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) return undefined;
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version?: string }).version;
}

/** Disk usage, as `du` counts it. */
function diskBytes(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).reduce(
    (sum, entry) => sum + lstatSync(join(entry.parentPath, entry.name)).blocks * 512,
    0,
  );
}
