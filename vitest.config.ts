import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Threads would take the whole run down with one server left open by the native transport.
    pool: 'forks',
    include: ['src/**/*.test.ts', 'conformance/**/*.test.ts', 'bench/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
  },
});
