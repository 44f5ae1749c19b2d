/** The header of every page: the shown world, simulated time, and the usual ways to advance it. */
import { isoTime } from '#contract/time.ts';
import { advanceClock, advanceOutcome, clock, nowMs } from '../clock.ts';
import { connection } from '../events.ts';
import { prefixOf, shownWorld } from '../route.ts';
import { useWorldChoices } from '../world.ts';
import { Action } from './action.tsx';
import { Choices } from './fields.tsx';
import { Time } from './values.tsx';

export function Header({ onKeys }: { readonly onKeys: () => void }) {
  return (
    <header class="top">
      <a class="brand" href="#/home">
        smstwin
      </a>
      <WorldSwitcher />
      <Action kind="plain help" act={onKeys}>
        <span class="hidden">Keys: </span>?
      </Action>
      <SimulatedTime />
    </header>
  );
}

/** A choice of the server's worlds, by their name. Hidden while there is only one. */
function WorldSwitcher() {
  const { worlds, error } = useWorldChoices();
  const isListed = worlds.some(([id]) => id === shownWorld);
  if (worlds.length === 1 && isListed) return null;
  // The control port refuses every call in a world that was deleted.
  const label = error === undefined ? shownWorld : `${shownWorld} (gone)`;
  return (
    <div class="world-switcher">
      <label class="dim wide" for="world">
        world
      </label>
      <Choices
        id="world"
        aria-label="World"
        value={shownWorld}
        onChoose={(id) => location.assign(`${prefixOf(id)}/${location.hash}`)}
        choices={isListed ? worlds : [...worlds, [shownWorld, label]]}
      />
    </div>
  );
}

/** Simulated time, the usual ways to advance it, and the state of the connection. */
function SimulatedTime() {
  if (nowMs.value === undefined || clock.value === undefined) return <div class="now" />;
  const { mode, rate, next_at: nextAt } = clock.value;
  return (
    <div class="now">
      {/* On the left, so that a text that appears does not move the buttons. */}
      <span class="dim advanced" role="status">
        {advanceOutcome.value}
      </span>
      <span title="Simulated time">
        <Time at={isoTime(nowMs.value)} /> <span class="dim wide">UTC</span>
      </span>
      <a class="badge mode" href="#/clock" title="Clock">
        {mode === 'scaled' ? `scaled ×${rate}` : mode}
      </a>
      {mode !== 'bound' && (
        <>
          <Action act={() => advanceClock({ by: '20s' })} label="Advance +20 s">
            +20 s
          </Action>
          <Action act={() => advanceClock({ to: nextAt })} disabled={nextAt === null}>
            Next event
          </Action>
          <Action act={() => advanceClock({ until_idle: true })} disabled={nextAt === null}>
            Until idle
          </Action>
        </>
      )}
      <span class={`live live-${connection.value}`}>
        <span class="dot" aria-hidden="true" />
        <span class="state">{connection.value}</span>
      </span>
    </div>
  );
}
