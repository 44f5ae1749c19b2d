/**
 * A longer test of the HTML report: accessibility, in light and dark mode.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { openCase, opened, withReport } from './report-in-browser.ts';

withReport(() => {
  // Dark differs from light by colours alone, so only those are looked at again.
  test.each([
    ['light', 1280, "{ resultTypes: ['violations'] }"],
    ['dark', 360, "{ runOnly: ['color-contrast'] }"],
  ] as const)(
    "in %s at %d px the colours are the scheme's, and axe finds nothing to object to, looking at %s",
    async (scheme, width, options) => {
      const { page } = await opened(scheme, width);
      const [ink, paper] = await page.evaluate<string[]>(
        '[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]',
      );
      const lightness = (color = '') => Number(/\d+/.exec(color)?.[0]);
      expect(lightness(ink) > lightness(paper)).toBe(scheme === 'dark');
      await openCase(page);
      const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
      await page.evaluate(readFileSync(axe, 'utf8'));
      const { violations } = await page.evaluate<{
        violations: { id: string; impact: string; nodes: { html: string }[] }[];
      }>(`axe.run(${options})`);
      expect(violations.map(({ id, impact, nodes }) => [id, impact, nodes[0]?.html])).toEqual([]);
      const wide = await page.evaluate<boolean>(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      );
      expect(wide).toBe(false);
      await page.close();
    },
    30_000,
  );
});
