/**
 * Snapshots on the control port.
 */
import { clockStateSchema } from '../../operations/clock-state.ts';
import { snapshotLimitBytes, snapshotText } from '../../operations/snapshot.ts';
import { type Snapshot, snapshotSchema } from '../../recording/snapshot-format.ts';
import { type Route, WholeReply } from './route.ts';

export const snapshotRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/snapshot',
    summary: 'The whole state. No full key is in it.',
    status: 200,
    result: snapshotSchema,
    refusals: [409],
    run: ({ simulator }) =>
      new WholeReply({ status: 200, body: snapshotText(simulator.snapshots.take()) }),
  },
  {
    method: 'PUT',
    path: '/control/snapshot',
    summary: 'Goes on from a snapshot as if the simulator had never stopped.',
    status: 200,
    body: snapshotSchema,
    bodyLimitBytes: snapshotLimitBytes,
    result: clockStateSchema,
    run: ({ simulator, body }) => {
      simulator.snapshots.restore(body as Snapshot);
      return simulator.clock.state();
    },
  },
];
