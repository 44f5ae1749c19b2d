/**
 * Walks the whole state of a simulation and reports violations, one line each: the rule, then the
 * finding. Changes nothing. It recounts from the records and has its own table of steps, so it
 * shares no sum, index, row or table with the code that it checks.
 */
import type { Simulation } from '../simulation.ts';
import { checkAccount } from './accounts.ts';
import { checkClock } from './clock.ts';
import { checkCohorts, checkDevices, checkRows } from './devices.ts';
import { Findings } from './findings.ts';
import { checkKeys } from './keys.ts';
import { checkLimiter } from './limiter.ts';
import { checkMessages } from './messages.ts';
import { recount } from './recount.ts';
import { checkAcceptedUses, checkKeptUses } from './replays.ts';
import { checkStore } from './store.ts';

export function walk(simulation: Simulation): Findings {
  const found = new Findings();
  checkMessages(simulation, found);
  checkDevices(simulation, found);
  checkRows(simulation, found);
  checkCohorts(simulation, found);
  const recounts = recount(simulation);
  checkStore(simulation, recounts, found);
  checkAcceptedUses(simulation, found);
  for (const account of simulation.world.accounts.values()) {
    checkAccount(simulation, account, recounts.accounts.get(account), found);
    checkKeptUses(simulation, account, found);
  }
  checkKeys(simulation, found);
  checkLimiter(simulation, found);
  checkClock(simulation, found);
  return found;
}
