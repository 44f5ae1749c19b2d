/**
 * How tests start `smstwin` in a process of its own. A test run builds the program once, because
 * the sources take two seconds of CPU to start; outside of one the sources run.
 */
import { fileURLToPath } from 'node:url';

const folder = process.env['SMSTWIN_TEST_PROGRAM'];
const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The flags of Node that come before the program. */
export const loader = folder === undefined ? ['--import', import.meta.resolve('tsx')] : [];
export const program = folder === undefined ? source('../../../cli/main.ts') : `${folder}/main.js`;
/** Preloaded into a process that reports its resources. */
export const probe = folder === undefined ? source('./probe.ts') : `${folder}/probe.js`;
/** The command that a user starts. */
export const bin =
  folder === undefined ? source('../../../bin/smstwin.js') : `${folder}/../bin/smstwin.js`;
