/**
 * The clock: the simulated time, its mode, buttons to advance it, and a button to reset.
 */
import { useSignal } from '@preact/signals';
import { clock, hearClock, nowMs, readState } from '../clock.ts';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { decimalNumber, readFields } from '../numbers.ts';
import { Action, ConfirmedAction } from '../parts/action.tsx';
import { Submit, TextField } from '../parts/fields.tsx';
import { Failure, Loading } from '../parts/notices.tsx';
import { durationText, isoTime, Time } from '../parts/time.tsx';
import type { ClockState } from '../wire.ts';

const modes = [
  { mode: 'manual', what: 'stands still until you move it' },
  { mode: 'real', what: 'runs as the wall clock does' },
  { mode: 'scaled', what: 'runs faster, at the rate you give' },
] as const;

/** Simulated seconds per second. */
const startRate = 60;
const highestRate = 1_000_000;

const jumps = ['1s', '20s', '1m', '1h', '24h'];

export function ClockPanel() {
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
      <Modes now={now} />
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
      <p class="dim">The world as it was at start, clock included; all messages are gone.</p>
      <div class="actions">
        <ConfirmedAction act={reset}>Start over</ConfirmedAction>
      </div>
    </div>
  );
}

function Modes({ now }: { readonly now: ClockState }) {
  const rate = useSignal(String(now.mode === 'scaled' ? now.rate : startRate));
  const set = async (body: { readonly mode: ClockState['mode']; readonly rate?: number }) =>
    hearClock(await call('clock.setMode', body));
  const readRate = () => readFields({ rate: () => decimalNumber(rate.value, 0, highestRate) });
  const error = useSignal<unknown>(undefined);
  const choose = async (mode: ClockState['mode']) => {
    try {
      await set(mode === 'scaled' ? { mode, rate: startRate } : { mode });
      error.value = undefined;
    } catch (failure) {
      error.value = failure;
    }
  };
  const rateForm = useSending(() => set({ mode: 'scaled', ...readRate() }));
  return (
    <fieldset class="modes">
      <legend>Mode</legend>
      {modes.map(({ mode, what }) => (
        <label key={mode} class="choice">
          <input
            type="radio"
            name="mode"
            checked={now.mode === mode}
            onChange={() => void choose(mode)}
          />
          <span>
            <b>{mode}</b> <span class="dim">{what}</span>
          </span>
        </label>
      ))}
      {now.mode === 'scaled' && (
        <form class="row" onSubmit={rateForm.onSubmit}>
          <TextField
            label="Rate"
            inputmode="decimal"
            of={rate}
            hint={`Simulated seconds per second; now ${now.rate}.`}
            problem={rateForm.problem('rate')}
          />
          <Submit kind="plain">Set rate</Submit>
        </form>
      )}
      <Failure error={error.value ?? rateForm.error} />
    </fieldset>
  );
}

function Jumps({ now }: { readonly now: ClockState }) {
  const by = useSignal('90s');
  const to = useSignal('');
  const fired = useSignal('');
  const advance = async (how: Readonly<Record<string, unknown>>) => {
    const { fired: count } = await call('clock.advance', how);
    fired.value = `${count} ${count === 1 ? 'timer' : 'timers'} fired.`;
    await readState();
  };
  const byForm = useSending(() => advance({ by: by.value }));
  const toForm = useSending(() => advance({ to: to.value }));
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
      <form class="row" onSubmit={byForm.onSubmit}>
        <TextField
          label="By"
          of={by}
          hint="A number with ms, s, m, h or d."
          problem={byForm.problem('by')}
        />
        <Submit kind="plain">Advance by</Submit>
      </form>
      <form class="row" onSubmit={toForm.onSubmit}>
        <TextField
          label="To"
          of={to}
          placeholder={now.now}
          hint="ISO 8601; time cannot go back."
          problem={toForm.problem('to')}
        />
        <Submit kind="plain">Advance to</Submit>
      </form>
      <p class="dim" role="status">
        {fired.value}
      </p>
    </div>
  );
}
