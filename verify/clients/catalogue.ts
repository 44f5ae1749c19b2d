/**
 * All clients: wrong ones, each of which breaks one rule as a real client would, and right ones
 * that look odd. A client rule without a wrong client is not covered.
 */
import type { ClientRow, NodeClient } from './client.ts';
import { pythonClients, shellClients } from './foreign-clients.ts';
import { rightIdentities } from './node/right-identities.ts';
import { rightLibraries } from './node/right-libraries.ts';
import { rightSenders } from './node/right-senders.ts';
import { wrongContents } from './node/wrong-contents.ts';
import { wrongIds } from './node/wrong-ids.ts';
import { wrongWaits } from './node/wrong-waits.ts';

export const nodeClients: readonly NodeClient[] = [
  ...wrongWaits,
  ...wrongIds,
  ...wrongContents,
  ...rightSenders,
  ...rightIdentities,
  ...rightLibraries,
];

export const foreignClients: readonly ClientRow[] = [...pythonClients, ...shellClients];
