/** The HTML report of an audit: what it plots. */
import { expect, test } from 'vitest';
import { audit } from '#audit/audit.ts';
import { reportHtml } from '#audit/report/html.ts';
import { fixedWindow, LimitedServer, perKey } from './limiters.ts';

interface Plotted {
  readonly label: string;
  readonly lines: readonly { readonly label: string; readonly values: (number | null)[] }[];
}

test('the report plots what passed in the learned window, the limit, and each refusal', async () => {
  const bench = new LimitedServer(perKey(fixedWindow(5, 1_000)));
  const result = await audit({ request: bench.request, ...bench.clock });
  const html = await reportHtml({ url: 'http://127.0.0.1/', result, differences: [] });
  const [, data = ''] = /data-plot="([^"]*)"/.exec(html) ?? [];
  const { label, lines } = JSON.parse(data.replaceAll('&quot;', '"')) as Plotted;
  const [passed, limit, refused] = lines;
  expect(label).toBe('Requests that passed in the last 1 s, and those refused');
  expect(lines.map((line) => line.label)).toEqual(['passed', 'limit', 'refused']);
  expect(Math.max(...(limit?.values ?? []).map(Number))).toBe(5);
  expect(passed?.values).toContain(5);
  const refusals = result.exchanges.filter(({ outcome }) => outcome !== 'passed');
  expect(refused?.values.filter((value) => value !== null)).toHaveLength(refusals.length);
  expect(html).toContain('<script>');
});
