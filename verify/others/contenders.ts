/**
 * The compared servers: their exact versions, and how each is installed and started.
 */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mockoonData, prismDocument } from './mock-files.ts';
import { type SimulatorReplies, sendCase } from './simulator-replies.ts';

export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/** The last Prism that runs on Node 20; later ones require Node 24. */
const prism = { package: '@stoplight/prism-cli', version: '5.14.2' };
const mockoon = { package: '@mockoon/cli', version: '9.9.0' };
const fastify = { package: 'fastify', version: '5.12.8' };
const express = { package: 'express', version: '5.3.0' };

export interface PinnedPackage {
  readonly package: string;
  readonly version: string;
}

export interface Contender {
  readonly name: string;
  /** A sentence that describes the server and its limits. */
  readonly what: string;
  /** `packed`: this checkout after `npm pack`; `sources`: this checkout itself. */
  readonly from: PinnedPackage | 'packed' | 'sources';
  /** Writes its input files into its install folder. */
  readonly prepare: (folder: string, replies: SimulatorReplies) => void;
  /** Node's arguments. */
  readonly argv: (folder: string, port: number) => readonly string[];
  /** Messages created before the measurement. */
  readonly preload: number;
  /** False: only its start is measured. */
  readonly isLoaded: boolean;
}

const loaded = { preload: 0, isLoaded: true } as const;
const stub = 'a stub: no state, no limits, no time, no validation';

const packed: Contender = {
  name: 'smstwin',
  what: 'this checkout, packed; rate limits off',
  from: 'packed',
  prepare: writeWorld,
  argv: (folder, port) => [
    join(folder, 'node_modules/smstwin/bin/smstwin.js'),
    ...serveFlags(folder, port),
  ],
  ...loaded,
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
    name: 'smstwin-sources',
    what: 'npm start in a checkout; only its start is measured',
    from: 'sources',
    prepare: writeWorld,
    argv: (folder, port) => ['--import', 'tsx', 'src/main.ts', ...serveFlags(folder, port)],
    preload: 0,
    isLoaded: false,
  },
  stubContender('fastify', fastify),
  stubContender('express', express),
  {
    name: 'prism',
    what: 'from our OpenAPI document: validates, but no state, no limits, no time',
    from: prism,
    prepare: (folder, { openApi }) => writeJson(folder, 'openapi.json', prismDocument(openApi)),
    argv: (folder, port) => [
      join(folder, 'node_modules/@stoplight/prism-cli/dist/index.js'),
      ...['mock', join(folder, 'openapi.json'), '--port', `${port}`, '--verboseLevel', 'silent'],
    ],
    ...loaded,
  },
  {
    name: 'mockoon',
    what: stub.replace('a stub', 'from a data file'),
    from: mockoon,
    prepare: (folder, { queued, read }) =>
      writeJson(folder, 'mockoon.json', mockoonData(queued, read)),
    argv: (folder, port) => [
      join(folder, 'node_modules/@mockoon/cli/bin/run.js'),
      ...['start', '--data', join(folder, 'mockoon.json'), '--port', `${port}`],
      '--disable-log-to-file',
    ],
    ...loaded,
  },
];

function stubContender(name: string, from: PinnedPackage): Contender {
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
    ...loaded,
  };
}

/** Its SIM is never polled, so no message progresses while another server is measured. */
function writeWorld(folder: string): void {
  writeJson(folder, 'world.json', sendCase.settings.world);
}

function serveFlags(folder: string, port: number): string[] {
  const ports = ['--port', `${port}`, '--control-port', '0'];
  return ['serve', '--no-limits', '--world', join(folder, 'world.json'), ...ports];
}

function writeJson(folder: string, name: string, value: unknown): void {
  writeFileSync(join(folder, name), JSON.stringify(value));
}
