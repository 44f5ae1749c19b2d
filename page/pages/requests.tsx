/**
 * The page Requests: the last thousand requests to the service, newest first, with a search.
 * Beside them one request in full: what was sent and answered, its fault and message, its trace.
 */
import { useSignal } from '@preact/signals';
import { endpointNames } from '#contract/limits.ts';
import { call } from '../control.ts';
import { CopyButton, DownloadButton, RowDownloads } from '../parts/copy-and-save.tsx';
import { Detail, Split } from '../parts/detail.tsx';
import { ExchangeView, faultText } from '../parts/exchange.tsx';
import { Choices, choicesOf, SearchInput } from '../parts/fields.tsx';
import { Empty, Loaded } from '../parts/frame.tsx';
import { LiveTable } from '../parts/live-table.tsx';
import type { Column } from '../parts/table.tsx';
import { Trace } from '../parts/timeline.tsx';
import { Facts, ReplyStatus, Time } from '../parts/values.tsx';
import { useResource, useSettled } from '../resource.ts';
import { addressOf, filterValue, setFilter } from '../route.ts';
import type { Reply, ServiceRequest } from '../wire.ts';
import { accountName, useWorld } from '../world.ts';
import { asCurl, useCaller } from './copies.ts';

/** The simulator keeps this many requests; see `docs/bounds.md`. */
const mostKept = 1_000;
/** Most visitors look at the newest requests; a button shows the others. */
const firstRows = 200;

export function RequestsPage() {
  useWorld();
  const search = filterValue('search');
  const limit = useSignal(firstRows);
  const settledSearch = useSettled(search);
  const requests = useResource(
    () => call('requests.list', { search: settledSearch, limit: limit.value }),
    { rereadAfter: ['traffic'], key: settledSearch, keepsLastValue: true },
  );
  const readAll = () => {
    limit.value = mostKept;
    requests.refresh();
  };
  return (
    <Split detail={(number) => <RequestDetail key={number} number={number} />}>
      <Filters search={search} />
      <Loaded resource={requests} what="requests" isQuiet>
        {({ requests: rows }) => (
          <Rows
            rows={rows}
            search={settledSearch}
            onAll={limit.value === mostKept ? undefined : readAll}
          />
        )}
      </Loaded>
    </Split>
  );
}

/** The choices beside the search. Each value is a word of the search language. */
const filterChoices = {
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
      {Object.entries(filterChoices).map(([name, choices]) => {
        const chosen = choices.find(({ value }) => words.includes(value));
        const otherWords = words.filter((word) => word !== chosen?.value);
        return (
          <Choices
            key={name}
            aria-label={name}
            value={chosen?.value ?? ''}
            onChoose={(value) => setFilter('search', [...otherWords, value].join(' ').trim())}
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
  /** Shows all requests; undefined once they are shown. */
  readonly onAll: (() => void) | undefined;
}

function Rows({ rows, search, onAll }: RowsProps) {
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
    <LiveTable
      label="Requests"
      columns={columns}
      rows={rows}
      keyOf={({ number }) => String(number)}
    >
      <DownloadButton read={() => call('requests.har')} file="requests.har">
        Save all as HAR
      </DownloadButton>
      <RowDownloads
        read={async () => (await call('requests.list', { search })).requests}
        file="requests"
      />
      <span>
        {rows.length.toLocaleString('en')} of the last {mostKept.toLocaleString('en')}
      </span>
      {onAll !== undefined && rows.length >= firstRows && (
        <button type="button" class="button plain" onClick={onAll}>
          Show all
        </button>
      )}
    </LiveTable>
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
  { head: 'What happened', cell: noteOn, kind: 'wide' },
  {
    head: 'Took',
    cell: ({ duration_ms: ms }) => `${ms.toFixed(2)} ms`,
    width: '7em',
    kind: 'number wide took-column',
  },
];

/** What the status does not say: the fault, a replay, or the error code. */
function noteOn({ fault, is_replay: isReplay, code }: ServiceRequest) {
  if (fault !== null) return <span class="problem">{faultText(fault)}</span>;
  return isReplay ? <span class="dim">replay</span> : <span class="mono">{code}</span>;
}

interface DetailProps {
  /** The request's number, from the address. */
  readonly number: string;
}

function RequestDetail({ number }: DetailProps) {
  const request = useResource(() => call('requests.get', number), { key: number });
  return (
    <Detail
      label="Request"
      title={`Request ${number}`}
      badge={request.value && <ReplyStatus status={request.value.status} />}
    >
      <Loaded resource={request} what="the request">
        {(loaded) => <Content request={loaded} number={number} />}
      </Loaded>
    </Detail>
  );
}

function Content({ request, number }: DetailProps & { readonly request: Reply<'requests.get'> }) {
  const { at, account_id: accountId, message_id: messageId, is_replay: isReplay } = request;
  const { method, path, body } = request.request;
  const isThrottled = request.reply.status === 429 && request.fault === null;
  const caller = useCaller(accountId);
  return (
    <>
      <Facts
        facts={[
          ['Fault', request.fault && <b class="problem">{faultText(request.fault)}</b>],
          ['Time', <Time key="at" at={at} />],
          ['Caller', accountId === null ? 'not known' : accountName(accountId)],
          ['Took', `${request.duration_ms.toFixed(2)} ms`],
          [
            'Throttled',
            isThrottled ? <a href="#/limits">Limits says when the next passes</a> : null,
          ],
          ['Replay', isReplay ? 'The reply to the first use of this request_id, again.' : null],
          ['Message', messageId && <a href={`#/messages/${messageId}`}>{messageId}</a>],
        ]}
      />
      {method === 'POST' && body !== null && (
        <div class="actions">
          <CopyButton text={() => asCurl(caller.baseUrl, path, body, caller.key)}>
            Copy as curl
          </CopyButton>
        </div>
      )}
      <ExchangeView exchange={request} showsFault={false} />
      <h3 class="section">What happened to it</h3>
      <Trace intent={{ number }} />
    </>
  );
}
