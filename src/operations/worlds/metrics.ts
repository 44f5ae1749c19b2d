/**
 * The operation that reads the metrics for Prometheus: the method returns values, and the control
 * port writes them as text.
 */
import { z } from 'zod';
import { OperationRefused } from '../../sim/operation-refused.ts';
import { familiesOf, mostLabelledWorlds } from '../../simulation/metrics/families.ts';
import { defineOperation, WholeReply } from '../define.ts';
import type { Live } from '../running-world.ts';

const querySchema = z
  .strictObject({
    world: z.string().min(1).max(100).exactOptional().describe('The metrics of this world alone.'),
    first: z
      .enum(['true', 'false'])
      .exactOptional()
      .describe('False: without the world that the server started with.'),
  })
  .default({});

/** The first world shows the metrics of all worlds; any other world shows its own. */
function* metricsOf(live: Live, { world, first: withFirst }: z.output<typeof querySchema>) {
  const { first, list } = live.hosting;
  const isFirst = live === first.simulator;
  if (world === undefined) {
    if (isFirst && withFirst === 'false') return yield* familiesOf(list, true);
    return yield* familiesOf(isFirst ? [first, ...list] : [{ worldId: '', simulator: live }]);
  }
  const named = live.hosting.get(world);
  const isShown = named !== undefined && (isFirst || named.simulator === live);
  if (!isShown) throw new OperationRefused('invalid', `there is no world ${world} here`, 'world');
  return yield* familiesOf([named]);
}

export const metrics = defineOperation({
  http: 'GET /control/metrics',
  fleet: { ofServer: true },
  summary: 'Metrics: OpenMetrics if `Accept` names it, otherwise the text format of Prometheus.',
  description:
    `Of several worlds, each sample has the label \`world\`. Of more than ${mostLabelledWorlds} ` +
    'worlds there are only totals; `world` selects one.',
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  input: querySchema,
  output: z.string(),
  examples: [{ world: 'default' }],
  slices: metricsOf,
  reply: async (families, _, headers) => {
    const { exposition } = await import('../../simulation/metrics/exposition.ts');
    const wantsOpenMetrics = headers['accept']?.includes('application/openmetrics-text') === true;
    const text = await exposition(families, wantsOpenMetrics ? 'openmetrics' : 'text');
    return new WholeReply({ status: 200, ...text });
  },
});
