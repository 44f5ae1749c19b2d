/**
 * The page Requests: the last thousand requests to the service, newest first, with a search.
 * A row says what the request was. Beside them one request in full, with its fault and trace.
 */
import { useSignal } from '@preact/signals';
import {
  type SearchWord,
  searchWord,
  searchWords,
  wordValues,
} from '#src/operations/requests/search-words.ts';
import { call } from '../control.ts';
import { CopyButton, CopyTest, DownloadButton, RowDownloads } from '../parts/copy-and-save.tsx';
import { Detail, Split } from '../parts/detail.tsx';
import { ExchangeView, FaultLink } from '../parts/exchange.tsx';
import { SearchInput } from '../parts/fields.tsx';
import { Empty, Failure, Loaded } from '../parts/frame.tsx';
import { LiveTable } from '../parts/live-table.tsx';
import type { Column } from '../parts/table.tsx';
import { Trace } from '../parts/timeline.tsx';
import { Facts, ReplyStatus, Time } from '../parts/values.tsx';
import { useResource, useSettled } from '../resource.ts';
import { addressOf, filterValue, setFilter } from '../route.ts';
import { Refusal } from '../typed-values.ts';
import type { Reply, ServiceRequest } from '../wire.ts';
import { counted } from '../words.ts';
import { accountName, useWorld, world } from '../world.ts';
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
  const read = { rereadAfter: ['traffic'], key: settledSearch, keepsLastValue: true } as const;
  const requests = useResource(
    () => call('requests.list', { search: settledSearch, limit: limit.value }),
    read,
  );
  const found = useResource(() => call('requests.found', { search: settledSearch }), read);
  const readAll = () => {
    limit.value = mostKept;
    requests.refresh();
  };
  const isRefused = requests.error instanceof Refusal;
  return (
    <Split detail={(number) => <RequestDetail key={number} number={number} />}>
      <Filters search={search} marks={found.value?.marks} />
      {isRefused && <Failure error={requests.error} />}
      <Loaded resource={requests} what="requests" isQuiet>
        {({ requests: rows }) => (
          <Rows
            rows={isRefused ? [] : rows}
            found={found.value}
            search={settledSearch}
            onAll={limit.value === mostKept ? undefined : readAll}
          />
        )}
      </Loaded>
    </Split>
  );
}

type Found = Reply<'requests.found'>;

/** The buttons above the list: the word of the search that each stands for, and what it counts. */
const chips: readonly (readonly [label: string, word: string, mark: keyof Found['marks']])[] = [
  ['Faults', 'fault:any', 'faults'],
  ['Replays', 'is:replay', 'replay'],
  ['Lost', 'is:lost', 'lost'],
  ['429', 'is:throttled', 'throttled'],
  ['4xx', 'status:4xx', 'refused'],
];

/** The words of a search; one with quotes may hold blanks. */
const wordForm = /(?:[^\s"]|"[^"]*"?)+/g;

interface FiltersProps {
  readonly search: string;
  readonly marks: Found['marks'] | undefined;
}

function Filters({ search, marks }: FiltersProps) {
  const words: readonly string[] = search.match(wordForm) ?? [];
  const toggle = (word: string) => {
    const others = words.filter((each) => each !== word);
    setFilter('search', [...others, ...(words.includes(word) ? [] : [word])].join(' '));
  };
  return (
    <search class="filters">
      <SearchInput
        name="search"
        label="to: status: request_id: key: account: fault: is:, or any text"
        suggestions={suggestionsFor(search)}
      />
      {chips.map(([label, word, mark]) => (
        <button
          key={word}
          type="button"
          class="button plain chip"
          aria-pressed={words.includes(word)}
          title={word}
          onClick={() => toggle(word)}
        >
          {label} <b>{(marks?.[mark] ?? 0).toLocaleString('en')}</b>
        </button>
      ))}
    </search>
  );
}

/** What the search may become: its last word completed, or the value of that word. */
function suggestionsFor(search: string): readonly string[] {
  const start = search.replace(/\S*$/, '');
  const [, name] = /^(\w+):/.exec(search.slice(start.length)) ?? [];
  const accounts = world.value?.accounts.map((account) => account.name) ?? [];
  const values: Readonly<Record<string, readonly string[] | undefined>> = {
    ...wordValues,
    account: accounts,
    from: world.value?.sims.map(({ number }) => number),
  };
  const ends =
    name === undefined
      ? searchWords.map((word) => `${word}:`)
      : (values[name] ?? []).map((value) => searchWord(name as SearchWord, value));
  return ends.map((end) => start + end);
}

interface RowsProps {
  readonly rows: readonly ServiceRequest[];
  readonly found: Found | undefined;
  readonly search: string;
  /** Shows all requests; undefined once they are shown. */
  readonly onAll: (() => void) | undefined;
}

function Rows({ rows, found, search, onAll }: RowsProps) {
  if (rows.length === 0) {
    return (
      <Empty title={search !== '' ? 'No request matches.' : 'No request yet.'}>
        {search !== ''
          ? `The search covers the last ${mostKept.toLocaleString('en')} requests.`
          : 'Requests to the service appear here as they arrive.'}
      </Empty>
    );
  }
  const { matched, kept } = found ?? { matched: rows.length, kept: rows.length };
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
        {matched === kept
          ? counted(kept, 'request')
          : `${matched.toLocaleString('en')} of ${counted(kept, 'request')} match`}
        {kept === mostKept && ' (only the last are kept)'}
      </span>
      {onAll !== undefined && rows.length < matched && (
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
    head: 'Request',
    cell: ({ method, endpoint, to }) => (
      <>
        {endpoint ?? <span class="dim">{method} unknown path</span>}
        {to !== null && <span class="mono"> → {to}</span>}
      </>
    ),
    kind: 'endpoint',
  },
  {
    head: 'Caller',
    cell: ({ account, key }) =>
      account === null ? (
        <span class="dim">not known</span>
      ) : (
        <span title={`${account}, key ${key}…`}>
          {account} <span class="dim mono">{key}…</span>
        </span>
      ),
    width: '12em',
    kind: 'wide beside',
  },
  { head: 'Answer', cell: ({ status }) => <ReplyStatus status={status} />, width: '6em' },
  { head: 'What it was', cell: (request) => <Subject request={request} />, kind: 'subject' },
  {
    head: 'Took',
    cell: ({ duration_ms: ms }) => `${ms.toFixed(2)} ms`,
    width: '7em',
    kind: 'number wide beside took-column',
  },
];

/** What happened to a request, then its text and its request_id. */
function Subject({ request }: { readonly request: ServiceRequest }) {
  const { fault, is_lost: isLost, is_replay: isReplay, repeats, code, text, retry_at } = request;
  const { request_id: requestId, retry_after_s: waitSeconds } = request;
  return (
    <span class="parts" title={[text, requestId].filter((part) => part !== null).join(' · ')}>
      {fault !== null && <FaultLink fault={fault} />}
      {fault === null && isLost && <b class="problem">reply lost: the client left first</b>}
      {retry_at !== null && (
        <b>
          wait {waitSeconds} s, until {retry_at.slice(11, 19)}
        </b>
      )}
      {isReplay && (
        <span>
          <Replay of={repeats} />
        </span>
      )}
      {code !== null && retry_at === null && <span class="mono">{code}</span>}
      {text !== null && <span class="text">{text}</span>}
      {requestId !== null && <span class="dim mono">{requestId}</span>}
    </span>
  );
}

/** `of`: the request that it repeats; null if that is no longer kept. */
function Replay({ of }: { readonly of: number | null }) {
  if (of === null) return <>replay of an earlier request</>;
  return (
    <>
      replay of <a href={addressOf('requests', String(of))}>{of}</a>
    </>
  );
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
  const { retry_at: retryAt, key } = request;
  const { method, path, body } = request.request;
  const caller = useCaller(accountId);
  return (
    <>
      <Facts
        facts={[
          ['Fault', request.fault && <FaultLink fault={request.fault} />],
          ['Time', <Time key="at" at={at} />],
          ['Caller', accountId === null ? 'not known' : `${accountName(accountId)}, key ${key}…`],
          ['Took', `${request.duration_ms.toFixed(2)} ms`],
          [
            'Wait',
            retryAt && (
              <>
                {request.retry_after_s} s, until <Time at={retryAt} />;{' '}
                <a href="#/limits">Limits</a> shows what is left
              </>
            ),
          ],
          [
            'Replay',
            isReplay ? (
              <>
                This is a <Replay of={request.repeats} />, with the same reply.
              </>
            ) : null,
          ],
          ['Message', messageId && <a href={`#/messages/${messageId}`}>{messageId}</a>],
        ]}
      />
      {method === 'POST' && body !== null && (
        <div class="actions">
          <CopyButton text={() => asCurl(caller.baseUrl, path, body, caller.key)}>
            Copy as curl
          </CopyButton>
          <CopyTest input={{ number }} />
        </div>
      )}
      <ExchangeView exchange={request} showsFault={false} />
      <h3 class="section">What happened to it</h3>
      <Trace intent={{ number }} />
    </>
  );
}
