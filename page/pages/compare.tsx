/**
 * Compares two worlds, such as a fork with its origin: a table of what differs between them, in
 * groups, each thing found by its identity. Part of the page Worlds.
 */
import { useEffect, useRef } from 'preact/hooks';
import { callIn } from '../control.ts';
import { FilterChoices } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import { filterValue, shownWorld } from '../route.ts';
import { faultSubject, faultWords, prefixOf } from '../words.ts';
import { useWorldChoices } from '../world.ts';

const mostMessages = 1_000;
/** What differs between any two worlds, or is no part of what they simulate. */
const ignored =
  /^(memory|base_url|seed|requests|throttled|retention|actors|timers)$|_id$|^history$/;

export function Compare() {
  const { worlds } = useWorldChoices();
  const first = filterValue('of') || shownWorld;
  const second = filterValue('with');
  if (worlds.length === 1) return null;
  const nameOf = (id: string) => worlds.find(({ value }) => value === id)?.label ?? id;
  const choicesWithout = (other: string) => worlds.filter(({ value }) => value !== other);
  return (
    <Card
      title="What differs between two worlds"
      head={
        <div class="filters">
          <FilterChoices
            name="of"
            label="Compare"
            any={`${nameOf(shownWorld)} (shown)`}
            choices={choicesWithout(shownWorld)}
          />
          <FilterChoices
            name="with"
            label="Compare with"
            any="compare with…"
            choices={choicesWithout(first)}
          />
        </div>
      }
    >
      {second !== '' && (
        <Comparison key={`${first} ${second}`} ids={[first, second]} nameOf={nameOf} />
      )}
    </Card>
  );
}

interface ComparisonProps {
  readonly ids: readonly [string, string];
  readonly nameOf: (id: string) => string;
}

function Comparison({ ids, nameOf }: ComparisonProps) {
  const region = useRef<HTMLDivElement>(null);
  const worlds = useResource(() => Promise.all(ids.map(readLeaves)), {
    rereadAfter: ['message', 'sim', 'clock', 'traffic', 'operation'],
  });
  const isLoaded = worlds.value !== undefined;
  useEffect(() => region.current?.scrollIntoView(), [isLoaded]);
  return (
    <div ref={region}>
      <Loaded resource={worlds} what="both worlds">
        {([one = noLeaves, other = noLeaves]) => {
          const rows = [...new Set([...one.keys(), ...other.keys()])].filter(
            (path) => one.get(path)?.text !== other.get(path)?.text,
          );
          if (rows.length === 0) return <Empty title="Nothing differs." />;
          const groups = [...new Set(rows.map((path) => path.split(': ')[0] ?? ''))];
          return groups.map((group) => (
            <section key={group}>
              <h3 class="section">{group}</h3>
              <Table
                label={`differences in ${group}`}
                columns={[
                  {
                    head: 'What',
                    cell: (path) => path.slice(group.length + 2),
                    kind: 'breaks',
                    namesRow: true,
                  },
                  ...[one, other].map((leaves, index) => ({
                    head: nameOf(ids[index] ?? ''),
                    cell: (path: string) => <Value leaf={leaves.get(path)} base={one.get(path)} />,
                    kind: 'breaks',
                  })),
                ]}
                rows={rows.filter((path) => path.startsWith(`${group}: `))}
                keyOf={(path) => path}
              />
            </section>
          ));
        }}
      </Loaded>
    </div>
  );
}

/** A value of a world. */
interface Leaf {
  readonly text: string;
  readonly href?: string | undefined;
}
/** By their path: the group, a colon, and names. */
type Leaves = ReadonlyMap<string, Leaf>;
const noLeaves: Leaves = new Map();

const isoForm = /^\d{4}-\d\d-\d\dT/;

/** `base`: the value of the first world, from which a number shows its difference. */
function Value({ leaf, base }: Readonly<Record<'leaf' | 'base', Leaf | undefined>>) {
  if (leaf === undefined) return <span class="dim">not there</span>;
  const { text, href } = leaf;
  if (href !== undefined) return <a href={href}>{text}</a>;
  if (isoForm.test(text)) return <Time at={text} />;
  const change = Number(text) - Number(base?.text ?? Number.NaN);
  if (text === '' || Number.isNaN(Number(text))) return <>{text}</>;
  return (
    <>
      {Number(text).toLocaleString('en')}{' '}
      {leaf !== base && !Number.isNaN(change) && (
        <span class="dim">
          ({change > 0 ? '+' : '−'}
          {Math.abs(change).toLocaleString('en')})
        </span>
      )}
    </>
  );
}

async function readLeaves(worldId: string): Promise<Leaves> {
  const prefix = prefixOf(worldId);
  const [state, { accounts }, { sims }, { faults }, { outcomes }, limits, assumptions, page] =
    await Promise.all([
      callIn(prefix, 'simulator.state'),
      callIn(prefix, 'accounts.list'),
      callIn(prefix, 'sims.all'),
      callIn(prefix, 'faults.list'),
      callIn(prefix, 'outcomes.get'),
      callIn(prefix, 'limits.get'),
      callIn(prefix, 'assumptions.get'),
      callIn(prefix, 'messages.page', { limit: mostMessages }),
    ]);
  const leaves = new Map<string, Leaf>();
  const { clock, ...counts } = state;
  const accountName = (id: string) =>
    accounts.find(({ account_id: each }) => each === id)?.name ?? id;
  addLeaves(clock, 'Clock:', leaves);
  addLeaves(counts, 'Counts:', leaves);
  for (const message of page.messages) {
    const path = `Messages: ${message.message_id.slice(0, 8)} to ${message.to}`;
    const href = `${prefix}/#/messages/${message.message_id}`;
    leaves.set(path, { text: message.status, href });
  }
  for (const account of accounts) addLeaves(account, `Accounts: ${account.name}`, leaves);
  for (const sim of sims) addLeaves(sim, `SIMs: ${sim.number}`, leaves);
  for (const fault of faults) {
    const text = `${faultWords(fault)}; ${faultSubject(fault, accountName)}; struck ${fault.hits}`;
    leaves.set(`Faults: ${fault.fault_id}`, { text: fault.paused ? `${text}; paused` : text });
  }
  for (const outcome of outcomes) addLeaves(outcome, `Recipients: ${outcome.to}`, leaves);
  addLeaves(limits, 'Limits:', leaves);
  addLeaves(assumptions, 'Assumptions:', leaves);
  return leaves;
}

/** Adds every value below `value` by its path. */
function addLeaves(value: unknown, path: string, leaves: Map<string, Leaf>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    leaves.set(path, { text: value === null ? 'none' : String(value) });
    return;
  }
  for (const [name, part] of Object.entries(value)) {
    if (!ignored.test(name)) addLeaves(part, `${path} ${name.replaceAll('_', ' ')}`, leaves);
  }
}
