/**
 * The page Worlds: creates, forks and deletes worlds of this server, and links to each one's
 * dashboard.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { pageOf, shownWorld } from '../hosted-world.ts';
import { Action, ConfirmedAction, CopyButton } from '../parts/action.tsx';
import { choicesOf, Select, Submit, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loaded } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import type { HostedWorld } from '../wire.ts';

const clocks = [
  { value: '', label: 'as the server' },
  ...choicesOf(['manual', 'real', 'scaled']),
] as const;

export function WorldsPage() {
  const worlds = useResource(() => call('worlds.list'), { everyMs: 2_000 });
  const { refresh } = worlds;
  return (
    <div class="stack">
      <p>
        A world is an isolated service: its own accounts, clock, limits and faults. Clients reach it
        by its base URL, or by its API keys alone.
      </p>
      <WorldForm onCreated={refresh} />
      <Loaded of={worlds} what="worlds">
        {({ worlds: all }) =>
          all.length === 0 ? (
            <Empty title="There is only the world that the server started with." />
          ) : (
            <section class="card" aria-label="Worlds">
              <Table
                label="Worlds"
                columns={columnsWith(refresh)}
                rows={all}
                keyOf={({ world_id: id }) => id}
              />
            </section>
          )
        }
      </Loaded>
    </div>
  );
}

function WorldForm({ onCreated }: { readonly onCreated: () => void }) {
  const name = useSignal('');
  const clock = useSignal('');
  const ttl = useSignal('');
  const sending = useSending(async () => {
    await call('worlds.create', {
      ...(name.value !== '' && { name: name.value }),
      ...(clock.value !== '' && { clock: clock.value }),
      ...(ttl.value !== '' && { ttl: ttl.value }),
    });
    name.value = '';
    onCreated();
  });
  const problems = { name: sending.problem('name'), ttl: sending.problem('ttl') };
  return (
    <section class="card" aria-labelledby="world-title">
      <h2 id="world-title">New world</h2>
      <form class="row" onSubmit={sending.onSubmit}>
        <TextField label="Name" placeholder="its id" of={name} problem={problems.name} />
        <Select label="Clock" of={clock} choices={clocks} />
        <TextField
          label="Time to live"
          placeholder="10m"
          hint="Deleted after this real time without a request; empty: never"
          of={ttl}
          problem={problems.ttl}
        />
        <Submit>Create world</Submit>
      </form>
      {(problems.name ?? problems.ttl) === undefined && <Failure error={sending.error} />}
    </section>
  );
}

function columnsWith(refresh: () => void): readonly Column<HostedWorld>[] {
  const fork = (id: string) => async () => {
    await call('worlds.fork', id);
    refresh();
  };
  const remove = (id: string) => async () => {
    await call('worlds.delete', id);
    if (id === shownWorld) location.assign(pageOf('default'));
    else refresh();
  };
  return [
    {
      head: 'Name',
      cell: ({ world_id: id, name }) =>
        id === shownWorld ? name : <a href={pageOf(id)}>{name}</a>,
      namesRow: true,
    },
    { head: 'Base URL', cell: ({ base_url: baseUrl }) => baseUrl, cellKind: 'mono' },
    {
      head: 'Expires',
      cell: ({ expires_at: at }) => (at === null ? 'never' : <Time at={at} />),
    },
    {
      head: 'Actions',
      cell: ({ world_id: id, name, base_url: baseUrl }) => (
        <>
          <CopyButton text={() => baseUrl}>Copy URL</CopyButton>
          <Action act={fork(id)} label={`Fork ${name}`}>
            Fork
          </Action>
          <ConfirmedAction act={remove(id)} what={name}>
            Delete
          </ConfirmedAction>
        </>
      ),
      kind: 'last',
      isHeadHidden: true,
    },
  ];
}
