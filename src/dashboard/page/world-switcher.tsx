/**
 * Shows which world the page is about, and links to the others. Hidden while there is only one.
 */
import { call } from './control.ts';
import { pageOf, shownWorld } from './hosted-world.ts';
import { useResource } from './resource.ts';

export function WorldSwitcher() {
  const { value, error } = useResource(() => call('worlds.list'), { on: ['operation', 'clock'] });
  const worlds = value?.worlds ?? [];
  const isGone = shownWorld !== 'default' && !worlds.some(({ world_id: id }) => id === shownWorld);
  if (worlds.length === 0 && !isGone) return null;
  return (
    <label class="world-switcher">
      <span class="dim wide">world</span>
      <select
        aria-label="World"
        value={shownWorld}
        onChange={({ currentTarget }) => location.assign(pageOf(currentTarget.value))}
      >
        <option value="default">default</option>
        {isGone && (
          <option value={shownWorld}>
            {shownWorld} {error === undefined ? '' : '(gone)'}
          </option>
        )}
        {worlds.map(({ world_id: id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
