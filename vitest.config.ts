import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Builds contain copies of tests. */
const exclude = [...configDefaults.exclude, 'build/**'];

/** Tests the first load of a module, so it needs a process of its own. */
const alone = ['src/http/transport/open-transport.test.ts'];
/**
 * Tests with whole processes or a browser, and those that take more than about two seconds of CPU:
 * `npm run test:all` runs them, too.
 */
const system = ['**/*.system.test.ts'];
/**
 * Tests that install packages, need root, or need the tools of other languages. Each has its own
 * command, such as `npm run test:package`.
 */
const release = ['verify/**/*.release.test.ts'];

/**
 * The longest files, which start first: one that starts last leaves the other cores idle. Vitest
 * knows durations only from an earlier run.
 */
const longest = [
  'verify/repository/types-and-lint.system.test.ts',
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
  'verify/harness/conformance-loop.system.test.ts',
  'verify/long/soak.system.test.ts',
  'verify/clients/node-clients.system.test.ts',
  'verify/model/model.system.test.ts',
  'src/recording/checkpoint/checkpoints.system.test.ts',
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
  // Tests make many short-lived objects. With four times the usual room for them, a test that runs
  // the harness takes 5 to 10 % less CPU.
  execArgv: ['--max-semi-space-size=64'],
  // Vitest leaves one core idle by default, which is half of a small machine. Many long tests wait
  // rather than compute.
  maxWorkers: availableParallelism() * 2,
  maxConcurrency: 10,
  // Ends a test that hangs, but not one that is slow because the machine is busy.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 60_000 } },
  setupFiles: ['verify/testkit/setup.ts'],
};

export default defineConfig({
  test: {
    // For the run as a whole; projects take nothing over, so each has them, too.
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
      { test: { ...shared, name: 'release', include: release } },
    ],
  },
});
