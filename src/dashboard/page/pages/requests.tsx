/**
 * The page Requests: the last thousand requests to the service, newest first, with a search; and one
 * request in full.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { call } from '../control.ts';
import { onEvents } from '../events.ts';
import { DownloadButton } from '../parts/action.tsx';
import { faultText } from '../parts/exchange.tsx';
import { Choices, choicesOf, SearchInput } from '../parts/fields.tsx';
import { Empty, Loaded } from '../parts/notices.tsx';
import { ReplyStatus } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { VirtualTable } from '../parts/virtual-table.tsx';
import { Reading } from '../reading.ts';
import { addressOf, pageArgument, pageFilters, setFilter } from '../route.ts';
import { endpoints, type ServiceRequest } from '../wire.ts';
import { accountName, useWorld, type World } from '../world.ts';
import { RequestDetail } from './request-detail.tsx';

const mostKept = 1_000;
const pauseMs = 150;

export function RequestsPage() {
  const requests = useSignal<readonly ServiceRequest[] | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const search = pageFilters.value.get('search') ?? '';
  const selected = pageArgument.value;
  const world = useWorld().value;
  const columns = useMemo(() => columnsOf(world), [world]);
  useEffect(() => {
    // Requests that arrived while the list was loading.
    let news: readonly ServiceRequest[] = [];
    const reading = new Reading(
      () => call('requests.list', { search }),
      (read) => {
        requests.value = withNews(read.requests, news);
        error.value = undefined;
      },
      (failure) => {
        error.value = failure;
      },
    );
    const typing = setTimeout(() => reading.now(), requests.peek() === undefined ? 0 : pauseMs);
    // Only the server searches, so a found list is read again.
    const end =
      search !== ''
        ? onEvents('traffic', () => reading.soon())
        : onEvents('request', (events) => {
            news = events === undefined ? [] : [...news, ...events].slice(-mostKept);
            if (events === undefined) reading.soon();
            else requests.value = withNews(requests.value ?? [], events);
          });
    return () => {
      end();
      clearTimeout(typing);
      reading.stop();
    };
  }, [search, requests, error]);
  return (
    <div class={selected === '' ? 'split' : 'split has-detail'}>
      <div class="split-list">
        <Filters search={search} />
        <Loaded of={{ value: requests.value, error: error.value }} what="requests" isQuiet>
          {(rows) => <Rows rows={rows} columns={columns} isFound={search !== ''} />}
        </Loaded>
      </div>
      {selected !== '' && <RequestDetail key={selected} name={selected} world={world} />}
    </div>
  );
}

/** Words for a search, by what they are for; each choice sets its own word in the search. */
const offered = {
  Endpoint: choicesOf(endpoints).map(({ label }) => ({ label, value: `endpoint:${label}` })),
  Answer: ['2xx', '4xx', '429', '5xx'].map((status) => ({
    label: status,
    value: `status:${status}`,
  })),
};

function Filters({ search }: { readonly search: string }) {
  const words = search.split(' ').filter((word) => word !== '');
  return (
    <search class="filters">
      <SearchInput
        label="to: status: request_id: key: account:, or any text"
        value={search}
        onType={(text) => setFilter('search', text)}
      />
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
  readonly columns: readonly Column<ServiceRequest>[];
  readonly isFound: boolean;
}

function Rows({ rows, columns, isFound }: RowsProps) {
  if (rows.length === 0) {
    return (
      <Empty title={isFound ? 'No request matches.' : 'No request yet.'}>
        <p>
          {isFound
            ? `The search covers the last ${mostKept.toLocaleString('en')} requests.`
            : 'Requests to the service appear here as they arrive.'}
        </p>
      </Empty>
    );
  }
  return (
    <>
      <VirtualTable
        label="Requests"
        columns={columns}
        count={rows.length}
        rowAt={(index) => rows[index]}
        keyOf={({ number }) => String(number)}
        selectedKey={pageArgument.value}
      />
      <p class="foot dim actions">
        <DownloadButton read={() => call('requests.har')} file="requests.har">
          Save all as HAR
        </DownloadButton>
        <DownloadButton read={() => rows} file="requests.json">
          Save these as JSON
        </DownloadButton>
        <span>
          {rows.length.toLocaleString('en')} of the last {mostKept.toLocaleString('en')}
        </span>
      </p>
    </>
  );
}

function withNews(
  known: readonly ServiceRequest[],
  events: readonly ServiceRequest[],
): ServiceRequest[] {
  const newest = known[0]?.number ?? 0;
  const news = events.filter(({ number }) => number > newest).reverse();
  return [...news, ...known].slice(0, mostKept);
}

function columnsOf(world: World | undefined): Column<ServiceRequest>[] {
  return [
    { head: '#', cell: ({ number }) => number, width: '8em', kind: 'number wide' },
    {
      head: 'Time',
      cell: ({ at, number }) => (
        <a class="row-link" href={addressOf('requests', String(number))}>
          <span class="hidden">Request {number}, </span>
          <Time at={at} />
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
      width: '11em',
    },
    {
      head: 'Caller',
      cell: ({ account_id: id }) =>
        id === null ? <span class="dim">not known</span> : accountName(world, id),
      width: '8em',
      kind: 'wide',
    },
    { head: 'Answer', cell: ({ status }) => <ReplyStatus status={status} />, width: '5.5em' },
    { head: 'What happened', cell: markOf, kind: 'wide' },
    {
      head: 'Took',
      cell: ({ duration_ms: ms }) => `${ms.toFixed(2)} ms`,
      width: '7em',
      kind: 'number wide',
    },
  ];
}

/** What the status does not tell. */
function markOf({ fault, is_replay: isReplay, code }: ServiceRequest) {
  if (fault !== null) return <span class="problem">{faultText(fault)}</span>;
  return isReplay ? <span class="dim">replay</span> : <span class="mono">{code}</span>;
}
