/**
 * The catalogue of clients: wrong ones, each of which breaks one rule as a real client would, and
 * right ones that look odd. A client rule without a wrong client is not covered.
 */
import type { ClientEntry, NodeClient } from './client.ts';
import { bodies } from './node/bodies.ts';
import { earlyRetries } from './node/early-retries.ts';
import { identity } from './node/identity.ts';
import { outcomes } from './node/outcomes.ts';
import { pace } from './node/pace.ts';
import { rightLibraries } from './node/right-libraries.ts';
import { rightReaders } from './node/right-readers.ts';
import { rightSenders } from './node/right-senders.ts';
import { rightWorkers } from './node/right-workers.ts';
import { pythonClients } from './python-clients.ts';
import { shellClients } from './shell-clients.ts';

export const nodeClients: readonly NodeClient[] = [
  ...earlyRetries,
  ...identity,
  ...outcomes,
  ...pace,
  ...bodies,
  ...rightSenders,
  ...rightWorkers,
  ...rightReaders,
  ...rightLibraries,
];

export interface CataloguedClient extends ClientEntry {
  readonly language: 'Node' | 'Python' | 'shell';
}

export const catalogue: readonly CataloguedClient[] = [
  ...nodeClients.map((client) => ({ ...client, language: 'Node' as const })),
  ...pythonClients.map((client) => ({ ...client, language: 'Python' as const })),
  ...shellClients.map((client) => ({ ...client, language: 'shell' as const })),
];
