/** All Node clients. */
import { nodeClients } from './catalogue.ts';
import { testNodeClients } from './node-tests.ts';

testNodeClients(nodeClients);
