/** A quick look at every Node client; `node-clients.system.test.ts` looks longer. */
import { testNodeClients } from './node-tests.ts';

testNodeClients({ wrong: 1, right: 1 });
