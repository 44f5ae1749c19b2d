/**
 * The page about metrics and the Grafana file have every metric that a fleet adds, and no other.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { shardMetrics } from './metrics.ts';

const names = shardMetrics.map(({ name }) => name).filter((name) => /^smstwin_shard_/.test(name));

test.each([
  ['observability.md', /^\| `(smstwin_shard_\w+)/gm],
  ['grafana-dashboard.json', /"expr": ".*?(smstwin_shard_\w+)/g],
])('docs/%s has the metrics of shards', (page, named) => {
  const text = readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8');
  const found = [...text.matchAll(named)].map(([, name]) => name);
  expect([...new Set(found)].sort()).toEqual([...names].sort());
});
