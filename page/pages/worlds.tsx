/**
 * The page Worlds: the worlds, and a comparison of two, such as a fork with its origin: a table of
 * what differs between them, in groups, each thing found by its identity.
 */
import { useEffect, useRef } from 'preact/hooks';
import { faultSubject, faultWords } from '#contract/fault-kinds.ts';
import { secondMs } from '#contract/time.ts';
import { callIn } from '../control.ts';
import { kinds } from '../events.ts';
import { worldList } from '../lists.ts';
import { FilterChoices } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { List } from '../parts/list.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import { filterValue, prefixOf, shownWorld } from '../route.ts';
import { aheadName, useWorldChoices } from '../world.ts';

/** Only so many of the newest messages of each world are compared. */
const mostMessages = 1_000;
/** The rows of a group that are shown until a button shows all. */
const firstRows = 10;
/** What differs between any two worlds, or is not part of what they simulate. */
const ignored =
  /^(memory|base_url|seed|requests|throttled|retention|actors|timers)$|_id$|^history$/;

export function WorldsPage() {
  return (
    <div class="stack">
      <List declaration={worldList} />
      <Compare />
    </div>
  );
}

function Compare() {
  const { worlds } = useWorldChoices();
  const first = filterValue('of') || shownWorld;
  const others = worlds.filter(([id]) => id !== first);
  // With only one other world, there is nothing to choose.
  const second = filterValue('with') || (others.length === 1 && others[0]?.[0]) || '';
  if (worlds.length === 1) return null;
  const nameOf = (id: string) => new Map(worlds).get(id) ?? id;
  const isAhead = nameOf(second).startsWith(aheadName);
  return (
    <Card
      title={isAhead ? 'What an hour would change' : 'What differs between two worlds'}
      head={
        <div class="filters">
          <FilterChoices
            name="of"
            label="Compare"
            any={`${nameOf(shownWorld)} (shown)`}
            choices={worlds.filter(([id]) => id !== shownWorld)}
          />
          <FilterChoices
            name="with"
            label="Compare with"
            any="compare with…"
            value={second}
            choices={others}
          />
        </div>
      }
    >
      {second !== '' && <Comparison key={first + second} ids={[first, second]} nameOf={nameOf} />}
    </Card>
  );
}

type ComparisonProps = Readonly<{ ids: readonly string[]; nameOf: (id: string) => string }>;

function Comparison({ ids, nameOf }: ComparisonProps) {
  const region = useRef<HTMLDivElement>(null);
  const worlds = useResource(() => Promise.all(ids.map(readLeaves)), kinds);
  useEffect(() => {
    if (filterValue('with') !== '') region.current?.closest('.card')?.scrollIntoView();
  }, [worlds.value !== undefined]);
  return (
    <div ref={region}>
      <Loaded resource={worlds} what="both worlds">
        {(both) => {
          const paths = new Set(both.flatMap((leaves) => [...leaves.keys()]));
          const [, since = ''] = both.map(knownSince).toSorted();
          const isKnown = (path: string) =>
            both.every((leaves) => (leaves.get(path)?.createdAt ?? latest) > since);
          const differing = [...paths].filter(isKnown).filter((path) => {
            const [text, otherText] = both.map((leaves) => leaves.get(path)?.text);
            // Clocks of real time differ a little: they are read one after the other.
            const ms = Date.parse(text ?? '') - Date.parse(otherText ?? '');
            return text !== otherText && !(path === 'Clock: now' && Math.abs(ms) < secondMs);
          });
          if (differing.length === 0) return <Empty title="Nothing differs." />;
          const groups = [...new Set(differing.map((path) => path.split(': ')[0] ?? ''))];
          return groups.map((group) => (
            <section key={group}>
              <h3 class="section">{group}</h3>
              {tablesOf(group, both, ids.map(nameOf), differing)}
            </section>
          ));
        }}
      </Loaded>
    </div>
  );
}

/** The differences of a group: those in both worlds, then what only one has, folded if long. */
function tablesOf(group: string, both: readonly Leaves[], names: string[], differing: string[]) {
  const paths = differing.filter((path) => path.startsWith(`${group}: `));
  // The second world before the first: what a fork has gained comes before what it has lost.
  return [both, ...both.map((leaves) => [leaves]).reverse()].map((worlds) => {
    const nameOf = (leaves: Leaves) => names[both.indexOf(leaves)] ?? '';
    const rows = paths.filter((path) =>
      both.every((leaves) => leaves.has(path) === worlds.includes(leaves)),
    );
    const place = worlds === both ? 'differ' : `only in ${worlds.map(nameOf)}`;
    if (rows.length === 0) return null;
    return (
      <details key={place} open={worlds === both || rows.length < firstRows}>
        <summary>{`${rows.length.toLocaleString('en')} ${place}`}</summary>
        <Table
          label={`${group} ${place}`}
          columns={[
            { head: 'What', cell: (path) => path.slice(group.length + 2), namesRow: true },
            ...worlds.map((leaves) => ({
              head: nameOf(leaves),
              cell: (path: string) => shownLeaf(leaves.get(path), both[0]?.get(path)),
              class: 'breaks',
            })),
          ]}
          first={firstRows}
          rows={rows}
          keyOf={(path) => path}
        />
      </details>
    );
  });
}

/** A value of a world; `createdAt` of a message alone. */
type Leaf = Readonly<{ text: string; href?: string; createdAt?: string }>;
/** The values by path, which is the group, a colon, and names. */
type Leaves = ReadonlyMap<string, Leaf>;

/** Later than any time. */
const latest = '~';

/** The time after which all messages of a world are among its values; empty if all are. */
function knownSince(leaves: Leaves): string {
  const times = [...leaves.values()].flatMap(({ createdAt = [] }) => createdAt);
  return times.length < mostMessages ? '' : (times.toSorted()[0] ?? '');
}

const isoForm = /^\d{4}-\d\d-\d\dT/;

/** `base`: the value of the first world, from which a number shows its difference. */
function shownLeaf(leaf: Leaf | undefined, base: Leaf | undefined) {
  if (leaf === undefined) return null;
  const { text, href } = leaf;
  if (href !== undefined) return <a href={href}>{text}</a>;
  if (isoForm.test(text)) return <Time at={text} />;
  const number = text === '' ? Number.NaN : Number(text);
  if (Number.isNaN(number)) return text;
  const change = number - Number(base?.text ?? Number.NaN);
  const signed = change.toLocaleString('en', { signDisplay: 'always' });
  return [
    `${number.toLocaleString('en')} `,
    leaf !== base && !Number.isNaN(change) && <span class="dim">({signed})</span>,
  ];
}

async function readLeaves(worldId: string): Promise<Leaves> {
  const prefix = prefixOf(worldId);
  const { clock, ...counts } = await callIn(prefix, 'simulator.state');
  const { accounts } = await callIn(prefix, 'accounts.list');
  const { sims } = await callIn(prefix, 'sims.all');
  const { faults } = await callIn(prefix, 'faults.list');
  const { outcomes } = await callIn(prefix, 'outcomes.get');
  const { buckets } = await callIn(prefix, 'limits.buckets');
  const page = await callIn(prefix, 'messages.page', { limit: mostMessages });
  const nameOf = (id: string) => accounts.find(({ account_id: each }) => each === id)?.name ?? id;
  const messages = page.messages.map(({ message_id: id, to, status, created_at: createdAt }) => {
    const href = `${prefix}/#/messages/${id}`;
    return [`Messages: ${id.slice(0, 8)} to ${to}`, { text: status, href, createdAt }] as const;
  });
  const faultLeaves = faults.map((fault) => {
    const text = `${faultWords(fault)}; ${faultSubject(fault, nameOf)}; struck ${fault.hits}`;
    return [
      `Faults: ${fault.fault_id}`,
      { text: fault.paused ? `${text}; paused` : text },
    ] as const;
  });
  const bucketLeaves = buckets.map(({ account_id: id, endpoint, next_at: nextAt, ...bucket }) => {
    const until = nextAt === null ? '' : `, 429 until ${nextAt.slice(11, 19)}`;
    const text = `${bucket.available} of ${bucket.limit}${until}`;
    return [`Limits: ${nameOf(id)} ${endpoint}`, { text }] as const;
  });
  return new Map([
    ...messages,
    ...leavesOf(clock, 'Clock:'),
    ...leavesOf(counts, 'Counts:'),
    ...accounts.flatMap((account) => leavesOf(account, `Accounts: ${account.name}`)),
    ...sims.flatMap((sim) => leavesOf(sim, `SIMs: ${sim.number}`)),
    ...faultLeaves,
    ...outcomes.flatMap((outcome) => leavesOf(outcome, `Recipients: ${outcome.to}`)),
    ...leavesOf(await callIn(prefix, 'limits.get'), 'Limits:'),
    ...bucketLeaves,
    ...leavesOf(await callIn(prefix, 'assumptions.get'), 'Assumptions:'),
  ]);
}

/** Every value below `value`, by its path. */
function leavesOf(value: unknown, path: string): readonly (readonly [string, Leaf])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [[path, { text: value === null ? 'none' : String(value) }]];
  return Object.entries(value)
    .filter(([name]) => !ignored.test(name))
    .flatMap(([name, part]) => leavesOf(part, `${path} ${name.replaceAll('_', ' ')}`));
}
