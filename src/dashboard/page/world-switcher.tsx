/**
 * Shows which world the page is about, and links to the others. Hidden while there is only one.
 */
import { call } from './control.ts';
import { Choices } from './parts/fields.tsx';
import { useResource } from './resource.ts';
import { pageOf, shownWorld } from './route.ts';

export function WorldSwitcher() {
  const { value, error } = useResource(() => call('worlds.list'), { on: ['operation', 'clock'] });
  const worlds = value?.worlds ?? [];
  const isGone = shownWorld !== 'default' && !worlds.some(({ world_id: id }) => id === shownWorld);
  if (worlds.length === 0 && !isGone) return null;
  const gone = error === undefined ? '' : ' (gone)';
  return (
    <div class="world-switcher">
      <label class="dim wide" for="world">
        world
      </label>
      <Choices
        id="world"
        aria-label="World"
        value={shownWorld}
        onChoose={(id) => location.assign(pageOf(id))}
        choices={[
          { value: 'default', label: 'default' },
          ...(isGone ? [{ value: shownWorld, label: `${shownWorld}${gone}` }] : []),
          ...worlds.map(({ world_id: value, name: label }) => ({ value, label })),
        ]}
      />
    </div>
  );
}
