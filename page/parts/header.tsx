/**
 * The header of every page: the shown world, simulated time, and the usual ways to advance it; and
 * its notices: the connection is lost, and what the last operation changed.
 */
import { useEffect } from 'preact/hooks';
import { isoTime } from '#contract/time.ts';
import { advanceClock, advanceOutcome, clock, nowMs } from '../clock.ts';
import { call, lastChange, type OperationName } from '../control.ts';
import { connection, reconnectNow } from '../events.ts';
import { pageName, prefixOf, shownWorld } from '../route.ts';
import { counted, textOf } from '../value-texts.ts';
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

/** Says that the world was deleted, or that the simulator does not answer. */
export function ConnectionNotice() {
  const isGone = connection.value === 'gone';
  const isLost = connection.value === 'lost';
  return (
    <div role="alert" class="connection-notice">
      {(isGone || isLost) && (
        <div class="lost">
          <p>
            <b>{isGone ? 'This world was deleted.' : 'The simulator does not answer.'}</b> The page
            shows what it last received{isLost && ', and reconnects by itself'}.
          </p>
          {isGone && <a href="/">Go to the first world</a>}
          {isLost && <Action act={reconnectNow}>Try now</Action>}
        </div>
      )}
    </div>
  );
}

const shownMs = 12_000;
const dropNotice = () => (lastChange.value = undefined);

/**
 * A notice with an Undo button, after an operation of this page that changed the world. It goes
 * after some seconds, or when the user acts again or leaves the page.
 */
export function Undo() {
  const change = lastChange.value;
  useEffect(() => {
    const timer = setTimeout(dropNotice, shownMs);
    return () => clearTimeout(timer);
  }, [change]);
  useEffect(() => dropNotice, [pageName.value]);
  return (
    <div class="undo" role="status">
      {change !== undefined && (
        <p class="actions card">
          {doneText(change)}
          <Action act={() => goBackBefore(change.name)}>Undo</Action>
        </p>
      )}
    </div>
  );
}

/** A changed setting is named with its value. */
function doneText({ name, input }: NonNullable<typeof lastChange.value>) {
  if (!/^(assumptions|limits)\.patch/.test(name)) return ['Done: ', <code key={name}>{name}</code>];
  return Object.entries(input).map(([setting, value]) => `${setting} is now ${textOf(value)}.`);
}

/** Takes the world back to before the last operation of this name, if nothing came after it. */
async function goBackBefore(name: OperationName): Promise<void> {
  const { entries } = await call('past.inputs', { limit: 20 });
  const laterInputs = entries.findIndex(({ input }) => input === name);
  const lineBefore = (entries[laterInputs]?.entry ?? 0) - 1;
  if (lineBefore < 0) throw new Error('The journal no longer holds it.');
  if (laterInputs > 0) {
    const came = `${counted(laterInputs, 'input')} came after it`;
    throw new Error(`${came}: the time machine goes back to line ${lineBefore}.`);
  }
  await call('past.goBack', { entry: lineBefore });
}
