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
import { rightByHand } from './node/right-by-hand.ts';
import { rightLibraries } from './node/right-libraries.ts';
import { pythonClients } from './python-clients.ts';
import { shellClients } from './shell-clients.ts';

export const nodeClients: readonly NodeClient[] = [
  ...earlyRetries,
  ...identity,
  ...outcomes,
  ...pace,
  ...bodies,
  ...rightByHand,
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
