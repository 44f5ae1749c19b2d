/**
 * `npm run build:binary`: builds `build/smstwin-linux-x64`, one file for Linux on x64 that needs no
 * Node. It is a "single executable application" of Node: the Node that runs this script, with the
 * program, its pages and the native server. A file next to it has the licences of all its parts.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import { asCommonJs, options, root } from './bundle-options.ts';

/** Node finds the program in the file by this text, which is the same in every version. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const folder = join(root, 'build');
const file = join(folder, 'smstwin-linux-x64');

const notices = `${file}-licences.txt`;
const bundle = join(folder, 'main.cjs');
const names = join(folder, 'names.json');
const settings = join(folder, 'sea.json');
const blob = join(folder, 'smstwin.blob');

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
await bundleProgram();
writeFileSync(notices, licences());
writeBlob();
copyFileSync(process.execPath, file);
chmodSync(file, 0o755);
run('npx', 'postject', file, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse);
for (const part of [bundle, names, settings, blob]) rmSync(part);

/** One file with the command, the server of `bench`, and the health check of the container. */
async function bundleProgram(): Promise<void> {
  const contents = `
    if (process.argv[2] === 'bench-server') require('./bench/servers/child.ts');
    else if (process.argv[2] === 'health')
      require('./cli/health.ts').isHealthy(process.env).then((is) => process.exit(is ? 0 : 1));
    else require('./cli/main.ts');`;
  await build({
    ...options,
    stdin: { contents, resolveDir: root },
    outfile: bundle,
    // Not the path of the executable: every module would then take itself for the entry.
    ...asCommonJs("__filename + '/main.cjs'"),
  });
}

/** What Node adds to itself: the program, and the files that it reads as assets. */
function writeBlob(): void {
  const [major = ''] = process.versions.node.split('.');
  const native = createRequire(import.meta.url).resolve(`@uwsjs/linux-x64-${major}`);
  const pages = readdirSync(join(root, 'dist/dashboard')).map((name) => `dashboard/${name}`);
  writeFileSync(names, JSON.stringify(pages));
  const built = ['clock.js', ...pages].map((name) => [name, join(root, 'dist', name)]);
  const config = {
    main: bundle,
    output: blob,
    disableExperimentalSEAWarning: true,
    // Without compiled code, compiling would take a third of the start.
    useCodeCache: true,
    assets: {
      names,
      'package.json': join(root, 'package.json'),
      'uws.node': join(native, '../uws.node'),
      'licences.txt': notices,
      ...Object.fromEntries(built),
    },
  };
  writeFileSync(settings, JSON.stringify(config));
  run(process.execPath, '--experimental-sea-config', settings);
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The licences of smstwin, of the bundled packages, of the native server and of Node. */
function licences(): string {
  // Node's licence, with those of its parts, such as V8. Debian has it in another folder.
  const places = [join(process.execPath, '../../LICENSE'), '/usr/share/doc/nodejs/LICENSE'];
  const nodeLicence = places.find((path) => existsSync(path));
  if (nodeLicence === undefined) throw new Error(`no LICENSE of Node next to ${process.execPath}`);
  return [
    readFileSync(join(root, 'LICENSE'), 'utf8'),
    readFileSync(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8'),
    'uWebSockets.js (Apache-2.0): the text of the licence is above.\n',
    `Node ${process.version}\n\n${readFileSync(nodeLicence, 'utf8')}`,
  ].join(`\n${'-'.repeat(80)}\n\n`);
}
