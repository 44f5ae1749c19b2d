/**
 * Writes metrics as the text that Prometheus reads, with prom-client, including the metrics of this
 * process. Loaded at the first scrape. From then on prom-client observes the event loop and the
 * garbage collector until the process ends.
 */
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import type { Family } from './families.ts';

export type Format = 'openmetrics' | 'text';

/** Gauges whose names end in `_total`, which promtool reports as mistakes; they are left out. */
const misnamed = ['resources', 'handles', 'requests'].map((name) => `nodejs_active_${name}_total`);

const endOfMetrics = '# EOF\n';

export async function exposition(
  families: readonly Family[],
  format: Format,
): Promise<{ readonly content: string; readonly contentType: string }> {
  const contentType =
    format === 'openmetrics' ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE;
  const registry = new Registry<typeof contentType>();
  registry.setContentType(contentType);
  for (const family of [...families, ...(await processMetrics())]) {
    // For OpenMetrics the registry renames counters in place, so it gets a copy.
    const copy = { ...family, get: async () => copy };
    registry.registerMetric(copy as unknown as Metric);
  }
  const content = await registry.metrics();
  // OpenMetrics ends with this line. In the older format it is a comment: the text is complete.
  const end = content.endsWith(endOfMetrics) ? '' : endOfMetrics;
  return { content: `${content}${end}`, contentType };
}

let processRegistry: Registry | undefined;

function processMetrics() {
  if (processRegistry === undefined) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
    for (const name of misnamed) processRegistry.removeSingleMetric(name);
  }
  return processRegistry.getMetricsAsJSON();
}
