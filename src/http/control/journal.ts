/**
 * The recorded run on the control port.
 */
import { type Route, WholeReply } from './route.ts';

export const journalRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/control/journal',
    summary:
      'The run as NDJSON: seed and settings, then every input with its simulated time. Without --journal, as far as memory keeps it.',
    status: 200,
    contentType: 'application/x-ndjson',
    refusals: [409],
    run: ({ simulator }) =>
      new WholeReply({
        status: 200,
        content: simulator.journalText(),
        contentType: 'application/x-ndjson',
      }),
  },
];
