/**
 * Compares `docs/methods.md` with the operations; `npx vitest run
 * verify/repository/methods-page.test.ts -u` rewrites it.
 */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { methodsPage } from './methods-page.ts';

test('docs/methods.md names every method', async () => {
  const page = fileURLToPath(new URL('../../docs/methods.md', import.meta.url));
  await expect(methodsPage()).toMatchFileSnapshot(page);
});
