/**
 * What differs between this world and another one, such as a fork beside its origin.
 */
import { call, callIn } from '../control.ts';
import { FilterChoices } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { Table } from '../parts/table.tsx';
import { useResource } from '../resource.ts';
import { filterValue, prefixOf, shownWorld } from '../route.ts';

const compared = [
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
/** They differ without a meaning. */
const ignored = new Set(['memory', 'base_url', 'seed', 'next_cursor', 'device_id', 'account_id']);

export function Compare() {
  const other = filterValue('with');
  const all =
    useResource(() => call('worlds.list'), { rereadAfter: ['operation'] }).value?.worlds ?? [];
  const others = [{ world_id: 'default', name: 'default' }, ...all].filter(
    ({ world_id: id }) => id !== shownWorld,
  );
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
      {other !== '' && <Both key={other} other={other} />}
    </Card>
  );
}

function Both({ other }: { readonly other: string }) {
  const both = useResource(() => Promise.all([shownWorld, other].map(read)), {
    rereadAfter: ['message', 'sim', 'clock', 'traffic', 'operation'],
  });
  return (
    <Loaded resource={both} what="both worlds">
      {differences}
    </Loaded>
  );
}

type Leaves = ReadonlyMap<string, string>;
const noLeaves: Leaves = new Map();

function differences([here = noLeaves, there = noLeaves]: readonly Leaves[]) {
  const rows = [...new Set([...here.keys(), ...there.keys()])].filter(
    (path) => here.get(path) !== there.get(path),
  );
  if (rows.length === 0) return <Empty title="Nothing differs." />;
  const value = (leaves: Leaves) => (path: string) =>
    leaves.get(path) ?? <span class="dim">not there</span>;
  return (
    <Table
      label="Differences"
      columns={[
        { head: 'What', cell: (path) => path, kind: 'breaks', namesRow: true },
        { head: 'This world', cell: value(here), kind: 'breaks' },
        { head: 'The other', cell: value(there), kind: 'breaks' },
      ]}
      rows={rows}
      keyOf={(path) => path}
    />
  );
}

async function read(worldId: string): Promise<Leaves> {
  const leaves = new Map<string, string>();
  const page = { limit: mostMessages };
  const replies = await Promise.all(
    compared.map((name) =>
      callIn(prefixOf(worldId), name, ...(name === 'messages.page' ? [page] : [])),
    ),
  );
  for (const reply of replies) addLeaves(reply, '', leaves);
  return leaves;
}

/** Every value by its path; what a list holds is named, so that its place does not matter. */
function addLeaves(value: unknown, path: string, leaves: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) {
    leaves.set(path, String(value));
    return;
  }
  const isMessage = 'message_id' in value;
  for (const [name, part] of Object.entries(value)) {
    if (ignored.has(name) || (isMessage && name !== 'status' && name !== 'history')) continue;
    addLeaves(part, `${path} ${Array.isArray(value) ? nameOf(part, name) : name}`.trim(), leaves);
  }
}

function nameOf(part: unknown, place: string): string {
  const { message_id: id, to, name, number, status } = (part ?? {}) as Record<string, unknown>;
  if (id !== undefined) return `${String(id).slice(0, 8)} to ${to}`;
  return String(name ?? number ?? status ?? to ?? place);
}
