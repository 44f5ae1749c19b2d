/** All Node clients, the right ones under 20 seeds. */
import { testNodeClients } from './node-tests.ts';
import { allSeeds } from './seeds.ts';

testNodeClients(allSeeds);
