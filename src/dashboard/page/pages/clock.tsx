/**
 * The page Clock: the simulated time, its mode, ways to advance it, and a reset.
 */
import { useSignal } from '@preact/signals';
import { clock, nowMs, readState } from '../clock.ts';
import { call } from '../control.ts';
import { Action, ConfirmedAction } from '../parts/action.tsx';
import { Loading } from '../parts/notices.tsx';
import { OperationForm } from '../parts/operation-form.tsx';
import { durationText, isoTime, Time } from '../parts/time.tsx';
import type { ClockState } from '../wire.ts';

const jumps = ['1s', '20s', '1m', '1h', '24h'];

export function ClockPage() {
  const now = clock.value;
  if (now === undefined) return <Loading what="the clock" />;
  return (
    <section class="card" aria-labelledby="clock-title">
      <h2 id="clock-title">Clock</h2>
      <p class="big-time">
        <Time at={isoTime(nowMs.value ?? 0)} />
      </p>
      <p class="dim">
        {now.pending} {now.pending === 1 ? 'timer' : 'timers'} pending
        {now.next_at !== null && (
          <>
            , the next in {durationText(Math.max(0, Date.parse(now.next_at) - (nowMs.value ?? 0)))}
          </>
        )}
      </p>
      <Mode now={now} />
      <Jumps now={now} />
      <StartOver />
    </section>
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
        <ConfirmedAction
          act={reset}
          warning="The world is then as it was at the start, clock included. All messages are deleted."
        >
          Start over
        </ConfirmedAction>
      </div>
    </div>
  );
}

function Mode({ now }: { readonly now: ClockState }) {
  return (
    <div class="jumps">
      <OperationForm
        // Starts again with the mode in force, which others may change, too.
        key={`${now.mode} ${now.rate}`}
        operation="clock.setMode"
        start={{ mode: now.mode, ...(now.mode === 'scaled' && { rate: String(now.rate) }) }}
        submit="Set mode"
        kind="plain"
        onDone={() => readState()}
      />
    </div>
  );
}

function Jumps({ now }: { readonly now: ClockState }) {
  const fired = useSignal('');
  const say = async ({ fired: count }: { readonly fired?: unknown }) => {
    fired.value = `${count} ${count === 1 ? 'timer' : 'timers'} fired.`;
    await readState();
  };
  const advance = async (how: Readonly<Record<string, unknown>>) =>
    say(await call('clock.advance', how));
  return (
    <div class="jumps">
      <h3>Advance</h3>
      <div class="actions">
        {jumps.map((jump) => (
          <Action key={jump} act={() => advance({ by: jump })} label={`Advance ${jump}`}>
            +{jump}
          </Action>
        ))}
        <Action
          act={() => advance({ to: now.next_at })}
          disabled={now.next_at === null}
          kind="main"
        >
          To the next event
        </Action>
        <Action act={() => advance({ until_idle: true })}>Until idle</Action>
      </div>
      <OperationForm
        operation="clock.advance"
        start={{ by: '90s' }}
        placeholders={{ to: now.now }}
        submit="Advance"
        kind="plain"
        onDone={say}
      />
      <p class="dim" role="status">
        {fired.value}
      </p>
    </div>
  );
}
