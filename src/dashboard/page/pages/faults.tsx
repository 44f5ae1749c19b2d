/**
 * The faults in force, how often each one acted, and a form to add one.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { decimalNumber, readFields, wholeNumber } from '../numbers.ts';
import { Action } from '../parts/action.tsx';
import { choicesOf, Select, Submit, TextField } from '../parts/fields.tsx';
import { Failure, Loaded } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useResource } from '../resource.ts';
import { endpoints, type Fault } from '../wire.ts';
import { accountName, useWorld, type World } from '../world.ts';

const kinds = [
  { value: 'lost_response', label: 'lost_response: accepted, then closed' },
  { value: 'refuse', label: 'refuse: closed before it is accepted' },
  { value: 'reset', label: 'reset: closed by a reset before it is accepted' },
  { value: 'hang', label: 'hang: accepted, then never answered' },
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
      <Loaded of={faults} what="faults">
        {({ faults: all }) =>
          all.length === 0 ? (
            <p class="dim">No faults are set.</p>
          ) : (
            <FaultTable faults={all} refresh={faults.refresh} />
          )
        }
      </Loaded>
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
  const columns: readonly Column<Fault>[] = [
    { head: 'Fault', cell: effectText, cellKind: 'mono', namesRow: true },
    { head: 'Strikes', cell: whenText },
    { head: 'Where', cell: ({ match }) => whereText(match, world) },
    {
      head: 'Hits',
      cell: ({ hits, seen }) => (
        <>
          {hits} <span class="dim">of {seen}</span>
        </>
      ),
      kind: 'number',
    },
    {
      head: 'Operations',
      cell: ({ fault_id: id, fault }) => (
        <Action act={remove(id)} label={`Remove fault ${fault.kind}`}>
          Remove
        </Action>
      ),
      kind: 'last',
      isHeadHidden: true,
    },
  ];
  return <Table label="Faults" columns={columns} rows={faults} keyOf={(one) => one.fault_id} />;
}

function effectText({ fault }: Fault) {
  const headers = Object.entries((fault.kind === 'status' && fault.headers) || {});
  return (
    <>
      {fault.kind} {fault.kind === 'delay' && `${fault.ms} ms`}
      {fault.kind === 'status' && fault.status}
      {headers.map(([name, value]) => (
        <div key={name}>{`${name}: ${value}`}</div>
      ))}
    </>
  );
}

function whereText({ endpoint, account_id: account, to }: Fault['match'], world?: World): string {
  return [
    endpoint ?? 'any endpoint',
    ...(account === undefined ? [] : [accountName(world, account)]),
    ...(to === undefined ? [] : [`to ${to}`]),
  ].join(', ');
}

function whenText({ when, times }: Fault): string {
  const most = times === undefined ? '' : `, ${times} times at most`;
  if ('nth' in when) return `request ${when.nth.join(', ')}${most}`;
  const which = 'every' in when ? `every ${when.every}.` : `with probability ${when.probability}`;
  return which + most;
}

/** Reads `Name: value` into an object; the control port validates it. */
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
      <Select label="Fault" of={kind} choices={kinds} />
      {needsDetail && (
        <TextField
          label={kind.value === 'delay' ? 'Milliseconds' : 'HTTP status'}
          inputmode="numeric"
          of={detail}
          problem={sending.problem('ms') ?? sending.problem('status')}
        />
      )}
      {kind.value === 'status' && (
        <TextField label="Header" placeholder="Retry-After: 5" of={header} />
      )}
      <Select label="Strikes" of={when} choices={whens} />
      <TextField label="n" of={amount} problem={sending.problem('number')} />
      <Select
        label="Endpoint"
        of={endpoint}
        choices={[{ value: '', label: 'any' }, ...choicesOf(endpoints)]}
      />
      <TextField label="Only to" type="tel" placeholder="any recipient" of={to} />
      <Submit>Add fault</Submit>
      <Failure error={sending.error} />
    </form>
  );
}
