import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sendBy } from '../../verify/testkit/control-fixture.ts';
import { outcomeOf, someCommands } from '../../verify/testkit/random-commands.ts';
import { Simulator } from '../simulator.ts';
import type { Snapshot } from './snapshot-format.ts';
import { takeSnapshot } from './take-snapshot.ts';
import { type StatePiece, snapshotOf, takeState } from './take-state.ts';

/** The rows of held messages are in no particular order: a restore sorts them. */
function comparable(snapshot: Snapshot): unknown {
  const devices = snapshot.devices.map((each) => ({ ...each, held: [...each.held].sort() }));
  return JSON.parse(JSON.stringify({ ...snapshot, devices }));
}

test('the pieces of a state are its snapshot, whatever happens while they are read', () => {
  fc.assert(
    fc.property(someCommands, someCommands, fc.nat(5), fc.nat(3), (before, after, early, sends) => {
      const simulator = new Simulator({ clock: 'manual', seed: 3 }, { journal: false });
      for (let n = 0; n < 300 * sends; n++) {
        sendBy(simulator, 0, { request_id: `${n}` });
        if (n % 100 === 99) simulator.clock.advance('61s');
      }
      for (const command of before) outcomeOf(simulator, command);
      const expected = comparable(takeSnapshot(simulator));
      const { head, pieces } = takeState(simulator);
      const text = JSON.stringify(head);
      const read: string[] = [];
      for (let n = 0; n < early; n++) {
        const { value } = pieces.next();
        if (value !== undefined) read.push(JSON.stringify(value));
      }
      for (const command of after) outcomeOf(simulator, command);
      for (const piece of pieces) read.push(JSON.stringify(piece));
      const whole = snapshotOf(
        JSON.parse(text),
        read.map((piece) => JSON.parse(piece) as StatePiece),
      );
      expect(comparable(whole)).toEqual(expected);
      expect(simulator.invariants({ snapshot: 'false' }).broken).toEqual([]);
      simulator.wallClock.stop();
      simulator.simulation.stop();
    }),
    { numRuns: 40 },
  );
});

test('a state that is not read to its end keeps no copy', () => {
  const simulator = new Simulator({ clock: 'manual' }, { journal: false });
  sendBy(simulator, 0, {});
  const { release } = takeState(simulator);
  release();
  const [chunk] = simulator.simulation.world.messages.chunks;
  expect(chunk?.onChange).toBeUndefined();
  void simulator.close();
});
