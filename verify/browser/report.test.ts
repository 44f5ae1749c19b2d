/**
 * The HTML report in a real browser, tested as its readers use it: by role and by visible text.
 */
import { expect, test } from 'vitest';
import { allFlags } from '../harness/fake-servers.ts';
import { openCase, opened, withReport } from './report-in-browser.ts';

withReport(() => {
  test('a rule is read with its sentence, its exchanges and a curl for each', async () => {
    const { page, unwanted } = await opened('light');
    await page.getByRole('heading', { level: 1, name: 'Conformance' }).waitFor();
    await page.getByRole('heading', { level: 2, name: 'Rules' }).waitFor();
    await page.getByRole('heading', { level: 2, name: 'Assumptions' }).waitFor();
    const { section, article } = await openCase(page);
    await section.getByText('A new message: 202 with the Message body').waitFor();
    await article.getByText('Expected', { exact: true }).waitFor();
    await article.getByText('HTTP 418').first().waitFor();
    await article.getByText('<script>alert(1)</script>').first().waitFor();
    const curl = article.getByRole('group', { name: 'curl' }).first();
    expect(await curl.innerText()).toMatch(/^curl -i[\s\S]*\/api\/v1\//);
    expect(await page.getByText(allFlags[1] ?? '').count()).toBe(0);
    expect(unwanted).toEqual([]);
    await page.close();
  });

  test('a section is opened by the keyboard alone', async () => {
    const { page } = await opened('light');
    const closed = page.locator('details.subject:not([open]) > summary').first();
    const section = closed.locator('..');
    const id = await section.getAttribute('id');
    await closed.focus();
    await page.keyboard.press('Enter');
    await page.locator(`details.subject[open][id="${id}"]`).getByRole('article').first().waitFor();
    await page.close();
  });
});
