/** A quick look at some Node clients; `node-clients.system.test.ts` looks longer at all. */
import { sample } from '../testkit/runs.ts';
import { nodeClients } from './catalogue.ts';
import { testNodeClients } from './node-tests.ts';

testNodeClients(sample(nodeClients, 6));
