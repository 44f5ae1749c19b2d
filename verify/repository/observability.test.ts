/** Compares `docs/observability.md` and the Grafana dashboard with the served metrics. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { metricNames } from '#src/simulation/metrics/families.ts';
import { Simulator } from '#src/simulator.ts';
import { MetricsText } from '#verify/testkit/metrics-text.ts';
import { sendBy } from '../testkit/twin/twin.ts';

const read = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const page = read('observability.md');
const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly query: unknown }[] };
};
/** The metrics of a process. Those that a fleet adds are compared where they are declared. */
const metric = /\b(?:smstwin_(?!shard_)|process_|nodejs_)[a-z0-9_]+/g;

async function servedNames(): Promise<ReadonlySet<string>> {
  const simulator = new Simulator({ clock: 'manual' });
  try {
    const { controlUrl } = await simulator.listen({ control: {} });
    sendBy(simulator, 0, {});
    const text = await (await fetch(`${controlUrl}/control/metrics`)).text();
    const declared = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    return new Set([...new MetricsText(text).names, ...declared]);
  } finally {
    await simulator.close();
  }
}

test('every metric that the dashboard queries is served, and every metric of ours is on it', async () => {
  const served = await servedNames();
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const variables = JSON.stringify(dashboard.templating.list);
  const named = [...`${queries.join('\n')}\n${variables}`.matchAll(metric)].map(([name]) => name);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !served.has(name))).toEqual([]);
  const families = named.map((name) => name.replace(/_(bucket|sum|count)$/, ''));
  expect(metricNames.filter((name) => !families.includes(name))).toEqual([]);
  const selectors = queries.flatMap((query) => query.match(/(?<=\w)\{[^}]*\}/g) ?? []);
  expect(selectors.length).toBeGreaterThan(20);
  const chosen = 'instance=~"$instance",shard=~"$shard"';
  expect(selectors.filter((selector) => !selector.includes(chosen))).toEqual([]);
  const ofWorlds = queries.filter((query) => /smstwin_(?!worlds|shard_)/.test(query));
  expect(ofWorlds.filter((query) => !query.includes('world=~"$world"'))).toEqual([]);
});

test('the page explains every metric of ours, and names no other', async () => {
  const served = await servedNames();
  const rows = [...page.matchAll(/^\| `(smstwin_(?!shard_)\w+)/gm)].map(([, name]) => name);
  expect([...rows].sort()).toEqual([...metricNames].sort());
  const named = [...page.matchAll(metric)].map(([name]) => name);
  expect(named.filter((name) => !served.has(name))).toEqual([]);
});

test('the configurations of Prometheus are YAML that points to the control port', () => {
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => parse(text));
  expect(blocks).toHaveLength(2);
  for (const { scrape_configs: jobs } of blocks) {
    expect(jobs[0]).toMatchObject({
      metrics_path: '/control/metrics',
      static_configs: [{ targets: ['127.0.0.1:8081'] }],
    });
  }
});
