/**
 * Metrics for Prometheus. The method returns values; the control port returns text.
 */
import { z } from 'zod';
import { familiesOf } from '../simulation/metrics/families.ts';
import { defineOperation, WholeReply } from './define.ts';

export const metrics = defineOperation({
  name: 'simulator.metrics',
  http: 'GET /control/metrics',
  summary: 'Metrics: OpenMetrics if `Accept` names it, otherwise the text format of Prometheus.',
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  output: z.string(),
  run: (live) => {
    const { first, list } = live.hosting;
    // The first world shows the metrics of all worlds; any other world shows its own.
    const shown = live === first.simulator ? [first, ...list] : [{ worldId: '', simulator: live }];
    return familiesOf(
      shown.map(({ worldId, simulator: { counts, simulation } }) => ({
        worldId,
        counts,
        simulation,
      })),
    );
  },
  reply: async (families, _, headers) => {
    const { exposition } = await import('../simulation/metrics/exposition.ts');
    const wantsOpenMetrics = headers['accept']?.includes('application/openmetrics-text') === true;
    const text = await exposition(families, wantsOpenMetrics ? 'openmetrics' : 'text');
    return new WholeReply({ status: 200, ...text });
  },
});
