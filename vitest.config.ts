import { configDefaults, defineConfig } from 'vitest/config';

/** Looks at what happens when a module is loaded for the first time, so it needs a process of its own. */
const alone = ['src/http/open-transport.test.ts'];

const shared = {
  // Threads would take the whole run down with one server left open by the native transport.
  pool: 'forks' as const,
  // Vitest leaves one core idle by default, which on a machine of two is half of it.
  maxWorkers: '100%',
};

export default defineConfig({
  test: {
    ...shared,
    projects: [
      {
        test: {
          ...shared,
          name: 'shared',
          // No test mocks a module, so files may share a process: loading everything anew for each costs a third of the run.
          isolate: false,
          include: ['src/**/*.test.ts', 'conformance/**/*.test.ts', 'bench/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...alone],
        },
      },
      { test: { ...shared, name: 'alone', include: alone } },
    ],
  },
});
