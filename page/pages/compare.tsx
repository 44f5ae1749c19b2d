/**
 * Compares this world with another one, such as a fork with its origin: a table of every value that
 * differs between their replies. Part of the page Worlds.
 */
import { call, callIn } from '../control.ts';
import { FilterChoices } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { Table } from '../parts/table.tsx';
import { useResource } from '../resource.ts';
import { filterValue, prefixOf, shownWorld } from '../route.ts';

/** The operations whose replies are compared. */
const comparedOperations = [
  'simulator.state',
  'accounts.list',
  'sims.all',
  'faults.list',
  'outcomes.get',
  'limits.get',
  'assumptions.get',
  'messages.page',
] as const;
const mostMessages = 1_000;
/** Fields that differ between any two worlds. */
const ignoredFields = new Set([
  'memory',
  'base_url',
  'seed',
  'next_cursor',
  'device_id',
  'account_id',
]);

export function Compare() {
  const otherWorld = filterValue('with');
  const list = useResource(() => call('worlds.list'), { rereadAfter: ['operation'] });
  const worlds = [{ world_id: 'default', name: 'default' }, ...(list.value?.worlds ?? [])];
  const others = worlds.filter(({ world_id: id }) => id !== shownWorld);
  if (others.length === 0) return null;
  return (
    <Card
      title="What differs from another world"
      head={
        <div class="filters">
          <FilterChoices
            name="with"
            label="Compare with"
            any="compare with…"
            choices={others.map(({ world_id: value, name: label }) => ({ value, label }))}
          />
        </div>
      }
    >
      {otherWorld !== '' && <Comparison key={otherWorld} otherWorld={otherWorld} />}
    </Card>
  );
}

function Comparison({ otherWorld }: { readonly otherWorld: string }) {
  const worlds = useResource(() => Promise.all([shownWorld, otherWorld].map(readLeaves)), {
    rereadAfter: ['message', 'sim', 'clock', 'traffic', 'operation'],
  });
  return (
    <Loaded resource={worlds} what="both worlds">
      {differencesOf}
    </Loaded>
  );
}

/** Every value in the replies of a world, as text by its path. */
type Leaves = ReadonlyMap<string, string>;
const noLeaves: Leaves = new Map();

function differencesOf([shown = noLeaves, other = noLeaves]: readonly Leaves[]) {
  const paths = [...new Set([...shown.keys(), ...other.keys()])];
  const rows = paths.filter((path) => shown.get(path) !== other.get(path));
  if (rows.length === 0) return <Empty title="Nothing differs." />;
  const valueIn = (leaves: Leaves) => (path: string) =>
    leaves.get(path) ?? <span class="dim">not there</span>;
  return (
    <Table
      label="Differences"
      columns={[
        { head: 'What', cell: (path) => path, kind: 'breaks', namesRow: true },
        { head: 'This world', cell: valueIn(shown), kind: 'breaks' },
        { head: 'The other', cell: valueIn(other), kind: 'breaks' },
      ]}
      rows={rows}
      keyOf={(path) => path}
    />
  );
}

async function readLeaves(worldId: string): Promise<Leaves> {
  const leaves = new Map<string, string>();
  const prefix = prefixOf(worldId);
  const replies = await Promise.all(
    comparedOperations.map((name) => {
      const input = name === 'messages.page' ? { limit: mostMessages } : undefined;
      return callIn(prefix, name, input);
    }),
  );
  for (const reply of replies) addLeaves(reply, '', leaves);
  return leaves;
}

/**
 * Adds every value below `value` by its path. In a path, an element of a list has a name instead of
 * its index, so that the order of the lists does not matter. Of a message, status and history
 * count.
 */
function addLeaves(value: unknown, path: string, leaves: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) {
    leaves.set(path, String(value));
    return;
  }
  const isMessage = 'message_id' in value;
  for (const [name, part] of Object.entries(value)) {
    if (ignoredFields.has(name) || (isMessage && name !== 'status' && name !== 'history')) continue;
    const step = Array.isArray(value) ? nameOf(part, name) : name;
    addLeaves(part, `${path} ${step}`.trim(), leaves);
  }
}

/** A name for an element of a list; its index if it has none. */
function nameOf(element: unknown, index: string): string {
  const { message_id: id, to, name, number, status } = (element ?? {}) as Record<string, unknown>;
  if (id !== undefined) return `${String(id).slice(0, 8)} to ${to}`;
  return String(name ?? number ?? status ?? to ?? index);
}
