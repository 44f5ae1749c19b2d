/**
 * What differs between Linux, macOS and Windows, in the code that ships: each use is named here,
 * with the reason why it works everywhere. A new one fails this test.
 */
import { expect, test } from 'vitest';
import { isThere, scans } from './modules.ts';

const onlyInCheckout = 'builds the page of a checkout, which no platform but ours promises';
const nodeMapsSignals = 'Windows: Node ends the process for SIGINT, SIGTERM and SIGKILL';
const modesAreIgnored = 'Windows ignores modes; the folder of the user protects the file there';

const traps: readonly (readonly [string, RegExp, Readonly<Record<string, string>>])[] = [
  [
    'a path of the root of a Unix system',
    /['"`]\/(?:bin|dev|etc|opt|proc|tmp|usr|var)\b/,
    {
      'src/recording/journal/journal-lock.ts':
        'where there is no /proc, the process id alone decides',
    },
  ],
  [
    'a file URL taken for a path',
    /import\.meta\.url\)\.pathname|page\.pathname/,
    { 'page/build/bundle.ts': onlyInCheckout },
  ],
  [
    'another program',
    /from 'node:child_process'/,
    {
      'bench/servers/server-process.ts': 'starts Node itself',
      'cli/action-start.mjs': 'the command line of the workflow, by the shell of its runner',
      'explore/child-run.ts': "runs the user's own command",
      'explore/finding-files.ts': 'the text of a test that it writes, which runs the same command',
      'fleet/child.ts': 'setpriv on Linux alone; a shard is Node itself',
      'fleet/haproxy.ts': 'without HAProxy, exit code 2 with a line',
    },
  ],
  [
    'a link, or a flag that Windows has not',
    /\b(?:sym|read)?linkSync\(|O_NOFOLLOW|O_NONBLOCK/,
    {
      'io/own-file.ts': 'hard links, which NTFS and APFS have',
      'io/plain-file.ts': 'the flags are 0 where they do not exist',
    },
  ],
  [
    'the mode of a file',
    /mode: 0o|chmod/,
    {
      'fleet/fleet.ts': modesAreIgnored,
      'fleet/haproxy.ts': modesAreIgnored,
      'fleet/state-file.ts': modesAreIgnored,
      'io/own-file.ts': modesAreIgnored,
      'src/http/transport/hyper-express/server.ts': modesAreIgnored,
      'src/http/transport/uws/index.cjs': 'only in the executable for Linux',
      'src/recording/checkpoint/checkpoints.ts': modesAreIgnored,
      'src/recording/journal/journal-writer.ts': modesAreIgnored,
      'record/recording-file.ts': modesAreIgnored,
      'record/secrets.ts': modesAreIgnored,
      'src/worlds/journal-folder.ts': modesAreIgnored,
    },
  ],
  [
    'a signal to a process',
    /process\.kill\(|\.kill\('SIG/,
    {
      'bench/servers/server-process.ts': nodeMapsSignals,
      'explore/child-run.ts': nodeMapsSignals,
      'fleet/child.ts': nodeMapsSignals,
      'src/recording/journal/journal-lock.ts': 'signal 0 asks whether it lives, everywhere',
    },
  ],
  ["the user's locale", /localeCompare|toLocale\w*\((?!'en')|Intl\.\w+\(\)/, {}],
];

test.each(traps)('%s: only where a reason is named', (_, trap, exceptions) => {
  const found = scans.portable.filter(({ text }) => trap.test(text)).map(({ path }) => path);
  expect(found.sort()).toEqual(Object.keys(exceptions).filter(isThere).sort());
});
