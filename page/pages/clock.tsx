/**
 * The page Clock: the simulated time, its mode, ways to advance it, and a reset.
 */
import { advanceClock, clock, describeAdvance, nowMs, readState, state } from '../clock.ts';
import { call } from '../control.ts';
import { Action } from '../parts/action.tsx';
import { Card, Loading } from '../parts/frame.tsx';
import { OperationForm } from '../parts/operation-form.tsx';
import { Time } from '../parts/values.tsx';
import { counted, durationText, isoTime } from '../words.ts';

const jumps = ['1s', '1m', '1h', '24h'];

export function ClockPage() {
  const now = clock.value;
  if (now === undefined) return <Loading what="the clock" />;
  return (
    <Card title="Clock">
      <p class="big-time">
        <Time at={isoTime(nowMs.value ?? 0)} />
      </p>
      <p class="dim">
        {counted(now.pending, 'timer')} pending
        {now.next_at !== null && (
          <>
            , the next in {durationText(Math.max(0, Date.parse(now.next_at) - (nowMs.value ?? 0)))}
          </>
        )}
      </p>
      <div class="jumps">
        <OperationForm
          // A new key starts the form again: others may have changed the mode in force.
          key={`${now.mode} ${now.rate}`}
          operation="clock.setMode"
          initial={{ mode: now.mode, ...(now.mode === 'scaled' && { rate: String(now.rate) }) }}
          submit="Set mode"
          kind="plain"
          onDone={() => readState()}
        />
      </div>
      {/* The header of every page (`page/shell.tsx`) has the other ways to advance. */}
      <div class="jumps">
        <h3>Advance</h3>
        <div class="actions">
          {jumps.map((jump) => (
            <Action key={jump} act={() => advanceClock({ by: jump })} label={`Advance ${jump}`}>
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
      <p class="dim">
        The <a href="#/past">time machine</a> shows what each earlier advance changed.
      </p>
      <StartOver />
    </Card>
  );
}

function StartOver() {
  const reset = async () => {
    await call('simulator.reset');
    await readState();
  };
  return (
    <div class="jumps">
      <h3>Start over</h3>
      <div class="actions">
        <Action
          act={reset}
          warning="The world is then as it was at the start, clock included. The journal keeps what was: Undo, and the time machine, bring it back without the list of requests."
        >
          Start over
        </Action>
      </div>
    </div>
  );
}
