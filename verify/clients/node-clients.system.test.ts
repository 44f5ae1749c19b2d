/** All Node clients, the right ones under more seeds. */
import { nodeClients } from './catalogue.ts';
import { testNodeClients } from './node-tests.ts';

testNodeClients(nodeClients);
