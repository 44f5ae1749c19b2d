/**
 * For the tests: a process that serves with a journal until it is killed. Its arguments are the journal file and
 * the ready file.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { createSimulator } from '../simulator.ts';

const [journal = '', readyFile = ''] = process.argv.slice(2);
const simulator = await createSimulator({ noLimits: true }, { journal });
await simulator.listen({ control: {} });
writeFileSync(`${readyFile}.tmp`, JSON.stringify(simulator.readyFile()));
renameSync(`${readyFile}.tmp`, readyFile);
