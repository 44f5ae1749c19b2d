/** The page Clock: the simulated time, its mode, ways to advance it, and a reset. */
import { signal } from '@preact/signals';
import { durationText, isoTime } from '#contract/time.ts';
import { advanceClock, clock, describeAdvance, nowMs, state } from '../clock.ts';
import { call, callIn } from '../control.ts';
import type { Row } from '../list-declaration.ts';
import { Action } from '../parts/action.tsx';
import { Card, Loading } from '../parts/frame.tsx';
import { OperationForm } from '../parts/operation-form.tsx';
import { Time } from '../parts/values.tsx';
import { addressOf, prefixOf, shownWorld } from '../route.ts';
import { counted } from '../value-texts.ts';
import { aheadName } from '../world.ts';

const jumps = ['1s', '1m', '1h', '24h'];

export function ClockPage() {
  const now = clock.value;
  if (now === undefined) return <Loading what="the clock" />;
  const { mode, rate, pending, next_at: nextAt } = now;
  const waitMs = Math.max(0, Date.parse(nextAt ?? '') - (nowMs.value ?? 0));
  return (
    <Card title="Clock">
      <p class="big-time">
        <Time at={isoTime(nowMs.value ?? 0)} />
      </p>
      <p class="dim">
        UTC, simulated; {counted(pending, 'timer')} pending
        {nextAt !== null && `, the next in ${durationText(waitMs)}`}
      </p>
      <div class="jumps">
        <OperationForm
          // A new key starts the form again: others may have changed the mode in force.
          key={`${mode} ${rate}`}
          operation="clock.setMode"
          fields={['mode', 'rate']}
          initial={{ mode, ...(mode === 'scaled' && { rate: String(rate) }) }}
          submit="Set mode"
          kind="plain"
        />
      </div>
      <div class="jumps">
        <h3>What comes next</h3>
        <div class="actions">
          <Action act={lookAhead}>Show the next hour</Action>
          <span class="dim">
            What an hour would change: in a copy of this world, which stays as it is.
          </span>
        </div>
      </div>
      <div class="jumps">
        <h3>Advance</h3>
        <div class="actions">
          {jumps.map((jump) => (
            <Action key={jump} act={() => advanceClock({ by: jump })} label={`Advance +${jump}`}>
              +{jump}
            </Action>
          ))}
        </div>
        <OperationForm
          operation="clock.advance"
          initial={{ by: '90s' }}
          placeholders={{ to: now.now }}
          submit="Advance"
          kind="plain"
          onDone={(reply) => describeAdvance(reply, state.peek())}
        />
      </div>
      <div class="jumps">
        <h3>Start over</h3>
        <div class="actions">
          <Action
            act={startOver}
            warning="The world is then as it was at the start, clock included. Undo brings it back until this tab is closed, without the list of requests."
          >
            Start over
          </Action>
          {undoSnapshot.value !== undefined && (
            <Action act={bringBack}>Undo: bring back what was</Action>
          )}
        </div>
      </div>
    </Card>
  );
}

/** Opens a comparison of this world with a copy of it in an hour. */
async function lookAhead(): Promise<void> {
  const { world_id: id } = await call('worlds.fork', shownWorld, {
    name: `${aheadName} ${isoTime(nowMs.peek() ?? 0).slice(11, 19)}`,
    ttl: '10m',
  });
  await callIn(prefixOf(id), 'clock.advance', { by: '1h' });
  location.hash = addressOf('worlds', '', { with: id });
}

/**
 * The snapshot from before the last reset by this page, as a reset begins the journal anew;
 * undefined without a reset, or if the snapshot failed (it may be too large).
 */
const undoSnapshot = signal<Row | undefined>(undefined);

async function startOver(): Promise<void> {
  undoSnapshot.value = await call('snapshots.take').catch(() => undefined);
  await call('simulator.reset');
}

async function bringBack(): Promise<void> {
  await call('snapshots.restore', undoSnapshot.value ?? {});
  undoSnapshot.value = undefined;
}
