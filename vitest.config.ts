import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What builds and earlier runs left is no test of this checkout. */
const exclude = [...configDefaults.exclude, 'build/**'];

/**
 * Looks at what happens when a module is loaded for the first time, so it needs a process of its
 * own.
 */
const alone = ['src/http/transport/open-transport.test.ts'];
/**
 * Starts, loads and kills whole processes, drives a browser, or takes long: left out of `npm test`,
 * part of `npm run test:all`.
 */
const system = ['**/*.system.test.ts'];
/**
 * Installs packages, needs root or the tools of other languages: each has a command of its own,
 * `npm run test:package` and those of its kind.
 */
const release = ['verify/**/*.release.test.ts'];

/**
 * A long file that starts last leaves the other cores idle. Vitest knows this of a former run only.
 */
const longest = [
  'verify/repository/types-and-lint.test.ts',
  'verify/foreign/foreign.system.test.ts',
  'verify/explore/commands.system.test.ts',
  'verify/explore/clients.system.test.ts',
  'verify/harness/flags-only.system.test.ts',
  'verify/audit/planted.system.test.ts',
  'verify/harness/defects.system.test.ts',
  'verify/browser/pages-in-use.system.test.ts',
  'verify/repository/command.system.test.ts',
  'verify/fleet/starts.system.test.ts',
  'verify/browser/pages.system.test.ts',
  'verify/audit/planted-faults.system.test.ts',
  'verify/clients/foreign-clients.system.test.ts',
  'verify/traffic/mutations.system.test.ts',
  'verify/browser/why.system.test.ts',
  'verify/audit/nginx.system.test.ts',
  'conformance/weekly.system.test.ts',
  'verify/discovery/discovery.system.test.ts',
  'verify/long/kill.system.test.ts',
  'verify/transports/idle-connections.system.test.ts',
  'verify/record/redacted.system.test.ts',
  'verify/clients/node-clients.system.test.ts',
  'verify/model/model.test.ts',
  'src/recording/checkpoint/checkpoints.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

const shared = {
  // Threads would take the whole run down with one server left open by the native transport.
  pool: 'forks' as const,
  // No test mocks a module, so files may share a process: loading everything anew for each costs a
  // third of `npm test`, and a minute of `npm run test:all`.
  isolate: false,
  // Vitest leaves one core idle by default, which on a machine of two is half of it. Many of the long
  // tests wait rather than compute.
  maxWorkers: availableParallelism() * 2,
  maxConcurrency: 10,
  // A test that hangs shall end; one that others on the machine slow down shall not fail.
  testTimeout: 120_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 20_000 } },
  setupFiles: ['verify/testkit/setup.ts'],
};

export default defineConfig({
  test: {
    ...shared,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'shared',
          include: ['**/*.test.ts'],
          exclude: [...exclude, ...alone, ...system, ...release],
        },
      },
      { test: { ...shared, name: 'alone', isolate: true, include: alone } },
      {
        test: {
          ...shared,
          name: 'system',
          include: system,
          exclude,
          globalSetup: 'verify/testkit/processes/build-program.ts',
        },
      },
      {
        test: {
          ...shared,
          name: 'release',
          include: release,
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
