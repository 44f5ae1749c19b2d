/**
 * The page Requests: the last thousand requests to the service, newest first, with a search; and one
 * request in full.
 */
import { useSignal } from '@preact/signals';
import { endpointNames } from '../../../sim/limits.ts';
import { call } from '../control.ts';
import { CopyButton, DownloadButton, Downloads } from '../parts/action.tsx';
import { Detail, Split } from '../parts/detail.tsx';
import { ExchangeView, faultText } from '../parts/exchange.tsx';
import { Choices, choicesOf, SearchInput } from '../parts/fields.tsx';
import { Empty, Loaded } from '../parts/frame.tsx';
import type { Column } from '../parts/table.tsx';
import { Trace } from '../parts/trace.tsx';
import { Facts, ReplyStatus, Time } from '../parts/values.tsx';
import { VirtualTable } from '../parts/virtual-table.tsx';
import { useResource, useSettled } from '../reading.ts';
import { addressOf, filterValue, setFilter } from '../route.ts';
import type { Reply, ServiceRequest } from '../wire.ts';
import { accountName, useWorld } from '../world.ts';
import { asCurl } from './copies.ts';
import { useCaller } from './setups.ts';

const mostKept = 1_000;
const firstRows = 200;

export function RequestsPage() {
  useWorld();
  const search = filterValue('search');
  const limit = useSignal(firstRows);
  const settled = useSettled(search);
  const requests = useResource(
    () => call('requests.list', { search: settled, limit: limit.value }),
    { on: ['traffic'], key: settled, keeps: true },
  );
  const more = () => {
    if (limit.value === mostKept) return;
    limit.value = mostKept;
    requests.refresh();
  };
  return (
    <Split detail={(number) => <RequestDetail key={number} number={number} />}>
      <Filters search={search} />
      <Loaded of={requests} what="requests" isQuiet>
        {({ requests: rows }) => <Rows rows={rows} search={settled} more={more} />}
      </Loaded>
    </Split>
  );
}

/** Words for a search, by what they are for; each choice sets its own word in the search. */
const offered = {
  Endpoint: choicesOf(endpointNames).map(({ label }) => ({ label, value: `endpoint:${label}` })),
  Answer: ['2xx', '4xx', '429', '5xx'].map((status) => ({
    label: status,
    value: `status:${status}`,
  })),
};

function Filters({ search }: { readonly search: string }) {
  const words = search.split(' ').filter((word) => word !== '');
  return (
    <search class="filters">
      <SearchInput name="search" label="to: status: request_id: key: account:, or any text" />
      {Object.entries(offered).map(([name, choices]) => {
        const chosen = choices.find(({ value }) => words.includes(value));
        const others = words.filter((word) => word !== chosen?.value);
        return (
          <Choices
            key={name}
            aria-label={name}
            value={chosen?.value ?? ''}
            onChoose={(value) => setFilter('search', [...others, value].join(' ').trim())}
            choices={[{ value: '', label: `any ${name.toLowerCase()}` }, ...choices]}
          />
        );
      })}
    </search>
  );
}

interface RowsProps {
  readonly rows: readonly ServiceRequest[];
  readonly search: string;
  readonly more: () => void;
}

function Rows({ rows, search, more }: RowsProps) {
  if (rows.length === 0) {
    return (
      <Empty title={search !== '' ? 'No request matches.' : 'No request yet.'}>
        {search !== ''
          ? `The search covers the last ${mostKept.toLocaleString('en')} requests.`
          : 'Requests to the service appear here as they arrive.'}
      </Empty>
    );
  }
  return (
    <VirtualTable
      label="Requests"
      columns={columns}
      count={rows.length}
      rowAt={(index) => rows[index]}
      keyOf={({ number }) => String(number)}
      onEnd={more}
    >
      <DownloadButton read={() => call('requests.har')} file="requests.har">
        Save all as HAR
      </DownloadButton>
      <Downloads
        read={async () => (await call('requests.list', { search })).requests}
        file="requests"
      />
      <span>
        {rows.length.toLocaleString('en')} of the last {mostKept.toLocaleString('en')}
      </span>
    </VirtualTable>
  );
}

const columns: readonly Column<ServiceRequest>[] = [
  { head: '#', cell: ({ number }) => number, kind: 'number request-number' },
  {
    head: 'Time',
    cell: ({ at, number }, above) => (
      <a class="row-link" href={addressOf('requests', String(number))}>
        <span class="hidden">Request {number}, </span>
        <Time at={at} above={above?.at} />
      </a>
    ),
    kind: 'time',
  },
  {
    head: 'Endpoint',
    cell: ({ method, endpoint }) => (
      <>
        <span class="dim">{method}</span> {endpoint ?? 'unknown path'}
      </>
    ),
    kind: 'endpoint',
  },
  {
    head: 'Caller',
    cell: ({ account_id: id }) =>
      id === null ? <span class="dim">not known</span> : accountName(id),
    width: '8em',
    kind: 'wide',
  },
  {
    head: 'Answer',
    cell: ({ status, fault }) => (
      <>
        <ReplyStatus status={status} />
        {fault !== null && (
          <b class="stand-in problem">
            {' '}
            !<span class="hidden"> by a fault</span>
          </b>
        )}
      </>
    ),
    width: '6em',
  },
  { head: 'What happened', cell: markOf, kind: 'wide' },
  {
    head: 'Took',
    cell: ({ duration_ms: ms }) => `${ms.toFixed(2)} ms`,
    width: '7em',
    kind: 'number wide took-column',
  },
];

/** What the status does not tell. */
function markOf({ fault, is_replay: isReplay, code }: ServiceRequest) {
  if (fault !== null) return <span class="problem">{faultText(fault)}</span>;
  return isReplay ? <span class="dim">replay</span> : <span class="mono">{code}</span>;
}

interface DetailProps {
  /** From the address. */
  readonly number: string;
}

/**
 * Request and reply as sent, the fault that struck it, the message that came of it, and all attempts
 * at the same message.
 */
function RequestDetail({ number }: DetailProps) {
  const request = useResource(() => call('requests.get', number), { key: number });
  return (
    <Detail
      label="Request"
      title={`Request ${number}`}
      badge={request.value && <ReplyStatus status={request.value.status} />}
    >
      <Loaded of={request} what="the request">
        {(value) => <Content request={value} number={number} />}
      </Loaded>
    </Detail>
  );
}

function Content({ request, number }: DetailProps & { readonly request: Reply<'requests.get'> }) {
  const { at, account_id: account, duration_ms: tookMs, message_id: message, is_replay } = request;
  const { method, path, body } = request.request;
  const isThrottled = request.reply.status === 429 && request.fault === null;
  const caller = useCaller(account);
  return (
    <>
      <Facts
        of={[
          ['Fault', request.fault && <b class="problem">{faultText(request.fault)}</b>],
          ['Time', <Time key="at" at={at} />],
          ['Caller', account === null ? 'not known' : accountName(account)],
          ['Took', `${tookMs.toFixed(2)} ms`],
          [
            'Throttled',
            isThrottled ? <a href="#/limits">Limits says when the next passes</a> : null,
          ],
          ['Replay', is_replay ? 'The reply to the first use of this request_id, again.' : null],
          ['Message', message && <a href={`#/messages/${message}`}>{message}</a>],
        ]}
      />
      {method === 'POST' && body !== null && (
        <div class="actions">
          <CopyButton text={() => asCurl(caller.baseUrl, path, body, caller.key)}>
            Copy as curl
          </CopyButton>
        </div>
      )}
      <ExchangeView exchange={request} saysFault={false} />
      <h3 class="section">What happened to it</h3>
      <Trace of={{ number }} />
    </>
  );
}
