/**
 * The page SIMs: the state and queue of each number, the operations on it, and a form to connect
 * one.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { Action } from '../parts/action.tsx';
import { Select, Submit, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loaded } from '../parts/notices.tsx';
import { StateBadge } from '../parts/status.tsx';
import { type Column, Table } from '../parts/table.tsx';
import type { Sim } from '../wire.ts';
import { accountChoices, useWorld, type World } from '../world.ts';

export function SimsPage() {
  const world = useWorld();
  return (
    <Loaded of={world} what="SIMs" isQuiet>
      {(value) => <AllSims world={value} refresh={world.refresh} />}
    </Loaded>
  );
}

interface AllSimsProps {
  readonly world: World;
  readonly refresh: () => void;
}

function AllSims({ world, refresh }: AllSimsProps) {
  return (
    <div class="stack">
      {world.accounts.map(({ account_id: id, name }) => (
        <SimTable
          key={id}
          title={name}
          sims={world.sims.filter((sim) => sim.account_id === id)}
          refresh={refresh}
        />
      ))}
      <SimTable title="Shared pool" sims={world.pool} refresh={refresh} />
      <PairForm world={world} refresh={refresh} />
    </div>
  );
}

interface SimTableProps {
  readonly title: string;
  readonly sims: readonly Sim[];
  readonly refresh: () => void;
}

function SimTable({ title, sims, refresh }: SimTableProps) {
  const columns: readonly Column<Sim>[] = [
    { head: 'Number', cell: ({ number }) => number, cellKind: 'mono', namesRow: true },
    { head: 'State', cell: stateOf },
    { head: 'Queue', cell: ({ queue_length: length }) => length, kind: 'number' },
    { head: 'Polling', cell: ({ polling }) => polling },
    {
      head: 'device_id',
      cell: ({ device_id: id }) => `${id.slice(0, 8)}…`,
      kind: 'wide',
      cellKind: 'mono dim wide',
    },
    { head: 'Operations', cell: (sim) => <SimActions sim={sim} refresh={refresh} /> },
  ];
  return (
    <section class="card" aria-label={`SIMs of ${title}`}>
      <h2>{title}</h2>
      {sims.length === 0 ? (
        <p class="dim">No SIM: this account sends from the shared pool.</p>
      ) : (
        <Table
          label={`SIMs of ${title}`}
          columns={columns}
          rows={sims}
          keyOf={(sim) => sim.device_id}
        />
      )}
    </section>
  );
}

function stateOf({ connected, active, allowed }: Sim) {
  return (
    <span class="badges">
      <StateBadge on={connected} yes="connected" no="disconnected" />
      {!active && <span class="badge status-failed">deactivated</span>}
      {!allowed && <span class="badge status-sending">not allowed</span>}
    </span>
  );
}

function SimActions({ sim, refresh }: { readonly sim: Sim; readonly refresh: () => void }) {
  const { number, connected, active, allowed, device_id: id } = sim;
  const picked = useSignal('');
  const patch = (verb: string, change: Partial<Sim>, kind: 'danger' | 'plain' = 'plain') => {
    const act = async () => {
      await call('sims.patch', id, change);
      refresh();
    };
    return (
      <Action act={act} kind={kind} label={`${verb} ${number}`}>
        {verb}
      </Action>
    );
  };
  const poll = async () => {
    const { picked_up: messages } = await call('sims.poll', id);
    picked.value = `${messages.length} picked up`;
    refresh();
  };
  return (
    <div class="actions">
      {patch(connected ? 'Disconnect' : 'Connect', { connected: !connected })}
      {patch(active ? 'Deactivate' : 'Activate', { active: !active }, active ? 'danger' : 'plain')}
      {patch(allowed ? 'Forbid' : 'Allow', { allowed: !allowed })}
      <Action act={poll} label={`Poll now: ${number}`}>
        Poll now
      </Action>
      <span class="dim" role="status">
        {picked.value}
      </span>
    </div>
  );
}

function PairForm({ world, refresh }: AllSimsProps) {
  const accountId = useSignal('');
  const number = useSignal('');
  const polling = useSignal('simulated');
  const account = accountId.value || (world.accounts[0]?.account_id ?? '');
  const sending = useSending(async () => {
    await call('sims.create', account, {
      number: number.value,
      polling: polling.value,
    });
    number.value = '';
    refresh();
  });
  if (world.accounts.length === 0) return <Empty title="There is no account to pair a SIM with." />;
  return (
    <section class="card" aria-labelledby="pair-title">
      <h2 id="pair-title">Connect a SIM</h2>
      <form class="row" onSubmit={sending.onSubmit}>
        <Select label="Account" of={accountId} value={account} choices={accountChoices(world)} />
        <TextField
          label="Number"
          type="tel"
          placeholder="+12025550177"
          of={number}
          problem={sending.problem('number')}
        />
        <Select
          label="Polling"
          of={polling}
          choices={[
            { value: 'simulated', label: 'simulated: by itself' },
            { value: 'external', label: 'external: by a device of yours' },
          ]}
        />
        <Submit>Connect SIM</Submit>
      </form>
      {sending.problem('number') === undefined && <Failure error={sending.error} />}
    </section>
  );
}
