/**
 * Checks the store of messages against a walk over its rows: the tables that find them, and its
 * counts.
 * Rules: READ-1, STATE-1, SEND-4.
 */
import { rowOf } from '../../sim/message-rows.ts';
import type { Device } from '../../sim/records.ts';
import type { Simulation } from '../simulation.ts';
import type { Findings } from './findings.ts';
import type { Recounts } from './recount.ts';

export function checkStore({ world }: Simulation, recounts: Recounts, found: Findings): void {
  const { messages } = world;
  let held = 0;
  for (const chunk of messages.chunks) {
    let rows = 0;
    for (let row = chunk.heldFrom(0); row >= 0; row = chunk.heldFrom(row + 1)) rows++;
    if (rows !== chunk.held) {
      found.report('STATE-1', `chunk ${chunk.number} counts ${chunk.held} messages, not ${rows}`);
    }
    held += rows;
  }
  if (held !== messages.size) {
    found.report('STATE-1', `the world counts ${messages.size} messages, not ${held}`);
  }
  if (recounts.unfinished !== messages.unfinished) {
    const { unfinished } = messages;
    found.report(
      'STATE-1',
      `the world counts ${unfinished} unfinished, not ${recounts.unfinished}`,
    );
  }
  checkUses(world.messages, found);
  const devices = new Set<Device>([...world.devices.values(), ...recounts.messagesOf.keys()]);
  for (const device of devices) {
    const count = recounts.messagesOf.get(device) ?? 0;
    if (count === device.messagesHeld) continue;
    found.report('RES-6', `SIM ${device.number} has ${device.messagesHeld} messages, not ${count}`);
  }
}

/** Every entry must lead to a message with its own `request_id`. */
function checkUses(messages: Simulation['world']['messages'], found: Findings): void {
  const seen = new Set<number>();
  for (const handle of messages.useHandles) {
    const chunk = messages.chunkOf(handle);
    const row = rowOf(handle);
    if (seen.has(handle)) found.report('SEND-4', `a use of request_id is listed twice`);
    seen.add(handle);
    if (!chunk.isHeldAt(row) || !chunk.columns.hasRequestId(chunk.placeOf(row))) {
      found.report('SEND-4', `a use of request_id leads to no message`);
    }
  }
}
