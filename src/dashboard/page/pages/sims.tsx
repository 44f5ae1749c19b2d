/**
 * SIMs: what each number may do, what waits for it, and its levers.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { Action } from '../parts/action.tsx';
import { Select, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { StateBadge } from '../parts/status.tsx';
import { TableScroll } from '../parts/table-scroll.tsx';
import type { Sim } from '../wire.ts';
import { useWorld, type World } from '../world.ts';

export function SimsPage() {
  const { value: world, error, refresh } = useWorld();
  if (world === undefined) {
    return error === undefined ? <Loading what="SIMs" /> : <Failure error={error} />;
  }
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
  return (
    <section class="card" aria-label={`SIMs of ${title}`}>
      <h2>{title}</h2>
      {sims.length === 0 ? (
        <p class="dim">No SIM: this account sends from the shared pool.</p>
      ) : (
        <TableScroll label={`SIMs of ${title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Number</th>
                <th scope="col">State</th>
                <th scope="col" class="number">
                  Queue
                </th>
                <th scope="col">Polling</th>
                <th scope="col" class="wide">
                  device_id
                </th>
                <th scope="col">Levers</th>
              </tr>
            </thead>
            <tbody>
              {sims.map((sim) => (
                <SimRow key={sim.device_id} sim={sim} refresh={refresh} />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}

function SimRow({ sim, refresh }: { readonly sim: Sim; readonly refresh: () => void }) {
  const { number, connected, active, allowed, polling, device_id: id } = sim;
  const told = useSignal('');
  const patch = (change: Partial<Sim>) => async () => {
    await call('sims.patch', id, change);
    refresh();
  };
  const poll = async () => {
    const { picked_up: picked } = await call('sims.poll', id);
    told.value = `${picked.length} picked up`;
    refresh();
  };
  return (
    <tr>
      <th scope="row" class="mono">
        {number}
      </th>
      <td>
        <span class="badges">
          <StateBadge on={connected} yes="connected" no="disconnected" />
          {!active && <span class="badge status-failed">deactivated</span>}
          {!allowed && <span class="badge status-sending">not allowed</span>}
        </span>
      </td>
      <td class="number">{sim.queue_length}</td>
      <td>{polling}</td>
      <td class="mono dim wide">{id.slice(0, 8)}…</td>
      <td>
        <div class="actions">
          <Action
            act={patch({ connected: !connected })}
            label={`${connected ? 'Disconnect' : 'Connect'} ${number}`}
          >
            {connected ? 'Disconnect' : 'Connect'}
          </Action>
          <Action
            act={patch({ active: !active })}
            kind={active ? 'danger' : 'plain'}
            label={`${active ? 'Deactivate' : 'Activate'} ${number}`}
          >
            {active ? 'Deactivate' : 'Activate'}
          </Action>
          <Action
            act={patch({ allowed: !allowed })}
            label={`${allowed ? 'Forbid' : 'Allow'} ${number}`}
          >
            {allowed ? 'Forbid' : 'Allow'}
          </Action>
          <Action act={poll} label={`Poll now: ${number}`}>
            Poll now
          </Action>
          <span class="dim" role="status">
            {told.value}
          </span>
        </div>
      </td>
    </tr>
  );
}

function PairForm({ world, refresh }: { readonly world: World; readonly refresh: () => void }) {
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
        <Select
          label="Account"
          value={account}
          choices={world.accounts.map(({ account_id: value, name }) => ({ value, label: name }))}
          onChoose={(value) => {
            accountId.value = value;
          }}
        />
        <TextField
          label="Number"
          type="tel"
          placeholder="+12025550177"
          value={number.value}
          onType={(value) => {
            number.value = value;
          }}
          problem={sending.problem('number')}
        />
        <Select
          label="Polling"
          value={polling.value}
          choices={[
            { value: 'simulated', label: 'simulated: by itself' },
            { value: 'external', label: 'external: by a device of yours' },
          ]}
          onChoose={(value) => {
            polling.value = value;
          }}
        />
        <button type="submit" class="button main">
          Connect SIM
        </button>
      </form>
      {sending.problem('number') === undefined && <Failure error={sending.error} />}
    </section>
  );
}
