/**
 * The parts of the page's header: a choice of the shown world, and simulated time.
 */
import { advanceClock, advanceOutcome, clock, nowMs } from './clock.ts';
import { call } from './control.ts';
import { connection } from './events.ts';
import { Action } from './parts/action.tsx';
import { Choices } from './parts/fields.tsx';
import { Time } from './parts/values.tsx';
import { useResource } from './resource.ts';
import { prefixOf, shownWorld } from './route.ts';
import { isoTime } from './words.ts';

/** A choice of the server's worlds, by their name. Hidden while there is only one. */
export function WorldSwitcher() {
  const { value, error } = useResource(() => call('worlds.list'), {
    rereadAfter: ['operation', 'clock'],
  });
  const worlds = value?.worlds ?? [];
  const isListed = shownWorld === 'default' || worlds.some(({ world_id: id }) => id === shownWorld);
  if (worlds.length === 0 && isListed) return null;
  // The control port refuses every call in a world that was deleted.
  const goneText = error === undefined ? '' : ' (gone)';
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
        choices={[
          { value: 'default', label: 'default' },
          ...(isListed ? [] : [{ value: shownWorld, label: `${shownWorld}${goneText}` }]),
          ...worlds.map(({ world_id: value, name: label }) => ({ value, label })),
        ]}
      />
    </div>
  );
}

/** Simulated time, the usual ways to advance it, and the state of the connection. */
export function SimulatedTime() {
  if (nowMs.value === undefined || clock.value === undefined) return <div class="now" />;
  const { mode, rate, next_at: nextAt } = clock.value;
  return (
    <div class="now">
      {/* On the left, so that a text that appears does not move the buttons. */}
      <span class="dim advanced" role="status">
        {advanceOutcome.value}
      </span>
      <Time at={isoTime(nowMs.value)} />
      <a class="badge mode" href="#/clock" title="Clock">
        {mode}
        {mode === 'scaled' ? ` ×${rate}` : ''}
      </a>
      {mode !== 'bound' && (
        <>
          <Action act={() => advanceClock({ by: '20s' })} label="Advance 20 s">
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
        {connection.value}
      </span>
    </div>
  );
}
