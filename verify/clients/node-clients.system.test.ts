/** All Node clients, the right ones under 20 seeds. */
import { nodeClients } from './catalogue.ts';
import { testNodeClients } from './node-tests.ts';
import { allSeeds } from './seeds.ts';

testNodeClients(nodeClients, allSeeds);
