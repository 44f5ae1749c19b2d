/**
 * Faults: what goes wrong on the wire, how often it did, and no more.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { decimalNumber, readFields, wholeNumber } from '../numbers.ts';
import { Action } from '../parts/action.tsx';
import { Select, TextField } from '../parts/fields.tsx';
import { Failure, Loading } from '../parts/notices.tsx';
import { TableScroll } from '../parts/table-scroll.tsx';
import { useResource } from '../resource.ts';
import { endpoints, type Fault } from '../wire.ts';
import { accountName, useWorld } from '../world.ts';

const kinds = [
  { value: 'lost_response', label: 'lost_response: accepted, then closed' },
  { value: 'refuse', label: 'refuse: closed before it is accepted' },
  { value: 'delay', label: 'delay: the reply comes late' },
  { value: 'status', label: 'status: another status' },
  { value: 'truncate', label: 'truncate: half of the reply' },
  { value: 'malformed', label: 'malformed: no valid JSON' },
];

const whens = [
  { value: 'nth', label: 'the n-th (3, or 1,4)' },
  { value: 'every', label: 'every n-th' },
  { value: 'probability', label: 'with probability (0 to 1)' },
];

export function FaultsPanel() {
  const faults = useResource(() => call('faults.list'), {
    on: ['request', 'clock'],
    everyMs: 3_000,
  });
  return (
    <section class="card" aria-labelledby="faults-title">
      <h2 id="faults-title">Faults</h2>
      <Failure error={faults.error} />
      {faults.value === undefined ? (
        <Loading what="faults" />
      ) : faults.value.faults.length === 0 ? (
        <p class="dim">Nothing goes wrong that you did not ask for.</p>
      ) : (
        <FaultTable faults={faults.value.faults} refresh={faults.refresh} />
      )}
      <FaultForm refresh={faults.refresh} />
    </section>
  );
}

interface FaultTableProps {
  readonly faults: readonly Fault[];
  readonly refresh: () => void;
}

function FaultTable({ faults, refresh }: FaultTableProps) {
  const world = useWorld().value;
  const remove = (id: string) => async () => {
    await call('faults.remove', id);
    refresh();
  };
  return (
    <TableScroll label="Faults">
      <table>
        <thead>
          <tr>
            <th scope="col">Fault</th>
            <th scope="col">Strikes</th>
            <th scope="col">Where</th>
            <th scope="col" class="number">
              Hits
            </th>
            <th scope="col" class="last">
              <span class="hidden">Levers</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {faults.map(({ fault_id: id, fault, when, match, times, hits, seen }) => (
            <tr key={id}>
              <th scope="row" class="mono">
                {fault.kind} {fault.kind === 'delay' && `${fault.ms} ms`}
                {fault.kind === 'status' && fault.status}
                {Object.entries((fault.kind === 'status' && fault.headers) || {}).map(
                  ([name, value]) => (
                    <div key={name}>{`${name}: ${value}`}</div>
                  ),
                )}
              </th>
              <td>
                {whenText(when)}
                {times === undefined ? '' : `, ${times} times at most`}
              </td>
              <td>
                {match.endpoint ?? 'any endpoint'}
                {match.account_id === undefined ? '' : `, ${accountName(world, match.account_id)}`}
                {match.to === undefined ? '' : `, to ${match.to}`}
              </td>
              <td class="number">
                {hits} <span class="dim">of {seen}</span>
              </td>
              <td class="last">
                <Action act={remove(id)} label={`Remove fault ${fault.kind}`}>
                  Remove
                </Action>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

function whenText(when: Fault['when']): string {
  if ('nth' in when) return `request ${when.nth.join(', ')}`;
  return 'every' in when ? `every ${when.every}.` : `with probability ${when.probability}`;
}

/** `Name: value` as an object; what is wrong with it, the control port says. */
function headerOf(line: string): Record<string, string> {
  const [name = '', ...value] = line.split(':');
  return { [name.trim()]: value.join(':').trim() };
}

const longestDelayMs = 600_000;
const lastRequest = 1_000_000_000;

function readAmount(when: string, text: string): number | number[] {
  if (when === 'probability') return decimalNumber(text, 0, 1);
  if (when === 'every') return wholeNumber(text, 1, lastRequest);
  return text.split(',').map((part) => wholeNumber(part, 1, lastRequest));
}

function FaultForm({ refresh }: { readonly refresh: () => void }) {
  const kind = useSignal('lost_response');
  const detail = useSignal('');
  const header = useSignal('');
  const when = useSignal('nth');
  const amount = useSignal('1');
  const endpoint = useSignal('send');
  const to = useSignal('');
  const needsDetail = kind.value === 'delay' || kind.value === 'status';
  const sending = useSending(async () => {
    const { number, ...effect } = readFields({
      number: () => readAmount(when.value, amount.value),
      ...(kind.value === 'delay' && { ms: () => wholeNumber(detail.value, 0, longestDelayMs) }),
      ...(kind.value === 'status' && { status: () => wholeNumber(detail.value, 200, 599) }),
    });
    await call('faults.add', {
      match: {
        ...(endpoint.value !== '' && { endpoint: endpoint.value }),
        ...(to.value !== '' && { to: to.value }),
      },
      when: { [when.value]: number },
      fault: {
        kind: kind.value,
        ...effect,
        ...(kind.value === 'status' && header.value !== '' && { headers: headerOf(header.value) }),
      },
    });
    refresh();
  });
  return (
    <form class="row add" aria-label="Add a fault" onSubmit={sending.onSubmit} noValidate>
      <Select label="Fault" value={kind.value} choices={kinds} onChoose={(v) => (kind.value = v)} />
      {needsDetail && (
        <TextField
          label={kind.value === 'delay' ? 'Milliseconds' : 'HTTP status'}
          inputmode="numeric"
          value={detail.value}
          onType={(value) => {
            detail.value = value;
          }}
          problem={sending.problem('ms') ?? sending.problem('status')}
        />
      )}
      {kind.value === 'status' && (
        <TextField
          label="Header"
          placeholder="Retry-After: 5"
          value={header.value}
          onType={(value) => {
            header.value = value;
          }}
        />
      )}
      <Select
        label="Strikes"
        value={when.value}
        choices={whens}
        onChoose={(v) => (when.value = v)}
      />
      <TextField
        label="n"
        value={amount.value}
        onType={(value) => {
          amount.value = value;
        }}
        problem={sending.problem('number')}
      />
      <Select
        label="Endpoint"
        value={endpoint.value}
        choices={[
          { value: '', label: 'any' },
          ...endpoints.map((value) => ({ value, label: value })),
        ]}
        onChoose={(value) => {
          endpoint.value = value;
        }}
      />
      <TextField
        label="Only to"
        type="tel"
        placeholder="any recipient"
        value={to.value}
        onType={(value) => {
          to.value = value;
        }}
      />
      <button type="submit" class="button main">
        Add fault
      </button>
      <Failure error={sending.error} />
    </form>
  );
}
