/**
 * The page Requests: the last thousand requests to the service, newest first, with a search. A row
 * says what the request was. A pane shows one request in full (`request-detail.tsx`).
 */

import { useSignal } from '@preact/signals';
import { keptRequests } from '#contract/limits.ts';
import {
  type SearchWord,
  searchTerm,
  searchWords,
  wordValues,
} from '#src/operations/requests/search-words.ts';
import { call, type Reply, type ServiceRequest } from '../control.ts';
import { Refusal } from '../field.ts';
import { Action } from '../parts/action.tsx';
import { DownloadButton, RowDownloads } from '../parts/copy-and-save.tsx';
import { FaultLink } from '../parts/exchange.tsx';
import { SearchInput } from '../parts/fields.tsx';
import { Empty, Failure, Loaded, Split } from '../parts/frame.tsx';
import { LiveTable, rowsInWindow } from '../parts/live-table.tsx';
import type { Column } from '../parts/table.tsx';
import { ReplyStatus, Time } from '../parts/values.tsx';
import { useReply, useSettled } from '../resource.ts';
import { addressOf, filterValue, setFilter } from '../route.ts';
import { counted } from '../value-texts.ts';
import { useWorld, world } from '../world.ts';
import { Replay, RequestDetail } from './request-detail.tsx';

/** This many rows are read once the user points at the list, and before only those that fit. */
const firstRows = 100;

export function RequestsPage() {
  useWorld();
  const search = useSettled(filterValue('search'));
  const limit = useSignal(rowsInWindow());
  const read = { keepsLastValue: true };
  const requests = useReply('requests.list', [{ search, limit: limit.value }], ['traffic'], read);
  const found = useReply('requests.found', [{ search }], ['traffic'], read).value;
  const isRefused = requests.error instanceof Refusal;
  return (
    <Split detail={(number) => <RequestDetail key={number} number={number} />}>
      <Filters marks={found?.marks} />
      {isRefused && <Failure error={requests.error} />}
      <Loaded resource={requests} what="requests" isQuiet>
        {({ requests: rows }) => {
          if (isRefused || rows.length === 0) return noRequest(search !== '');
          const { matched = rows.length, kept = rows.length } = found ?? {};
          return (
            <LiveTable
              label="Requests"
              columns={columns}
              rows={rows}
              keyOf={({ number }) => String(number)}
              onRead={() => (limit.value = Math.max(limit.value, firstRows))}
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
                {kept === keptRequests && ' (only the last are kept)'}
              </span>
              {rows.length < matched && (
                <Action act={() => (limit.value = keptRequests)}>Show all</Action>
              )}
            </LiveTable>
          );
        }}
      </Loaded>
    </Split>
  );
}

function noRequest(isSearched: boolean) {
  const searched = `The search covers the last ${counted(keptRequests, 'request')}.`;
  if (isSearched) return <Empty title="No request matches.">{searched}</Empty>;
  return <Empty title="No request yet.">Requests of clients appear here as they arrive.</Empty>;
}

type Marks = Reply<'requests.found'>['marks'];

/** The buttons above the list: the word of the search that each stands for, and what it counts. */
const chips: readonly (readonly [label: string, word: string, mark: keyof Marks])[] = [
  ['Faults', 'fault:any', 'faults'],
  ['Replays', 'is:replay', 'replay'],
  ['Lost', 'is:lost', 'lost'],
  ['429', 'is:throttled', 'throttled'],
  ['4xx', 'status:4xx', 'refused'],
];

/** The words of a search; one with quotes may hold blanks. */
const wordForm = /(?:[^\s"]|"[^"]*"?)+/g;

function Filters({ marks }: { readonly marks: Marks | undefined }) {
  const search = filterValue('search');
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
        <Action
          key={word}
          kind="plain chip"
          aria-pressed={words.includes(word)}
          title={word}
          act={() => toggle(word)}
        >
          {label} <b>{(marks?.[mark] ?? 0).toLocaleString('en')}</b>
        </Action>
      ))}
    </search>
  );
}

/** What the search may become: its last word completed, or the value of that word. */
function suggestionsFor(search: string): readonly string[] {
  const start = search.replace(/\S*$/, '');
  const [, name] = /^(\w+):/.exec(search.slice(start.length)) ?? [];
  if (name === undefined) return searchWords.map((word) => `${start}${word}:`);
  const values: Readonly<Record<string, readonly string[] | undefined>> = {
    ...wordValues,
    account: world.value?.accounts.map((account) => account.name),
    from: world.value?.sims.map(({ number }) => number),
  };
  return (values[name] ?? []).map((value) => start + searchTerm(name as SearchWord, value));
}

const columns: readonly Column<ServiceRequest>[] = [
  { head: '#', cell: ({ number }) => number, class: 'number request-number' },
  {
    head: 'Time',
    cell: ({ at, number }, above) => (
      <a class="row-link" href={addressOf('requests', String(number))}>
        <span class="hidden">Request {number}, </span>
        <Time at={at} above={above?.at} />
      </a>
    ),
    class: 'time',
  },
  {
    head: 'Request',
    cell: ({ method, endpoint, to }) => [
      endpoint ?? <span class="dim">{method} unknown path</span>,
      to !== null && <span class="mono"> → {to}</span>,
    ],
    class: 'endpoint',
  },
  {
    head: 'Caller',
    cell: ({ account, key }) =>
      account === null ? (
        <span class="dim">not known</span>
      ) : (
        <span title={`${account}, key ${key}…`}>
          {account}{' '}
          <a class="mono" href={addressOf('requests', '', { search: `key:${key}` })}>
            {key}…
          </a>
        </span>
      ),
    class: 'wide beside caller-column',
  },
  {
    head: 'Answer',
    cell: ({ status, is_lost }) => <ReplyStatus status={status} isLost={is_lost} />,
    class: 'answer-column',
  },
  { head: 'What it was', cell: subjectOf, class: 'subject' },
  {
    head: 'Took',
    cell: ({ duration_ms: ms }) => `${ms.toFixed(2)} ms`,
    class: 'number wide beside took-column',
  },
];

/** What happened to a request, then its request_id and its text. */
function subjectOf(request: ServiceRequest) {
  const { fault, is_lost: isLost, is_replay: isReplay, repeats, code, text, retry_at } = request;
  const { request_id: requestId, retry_after_s: waitSeconds } = request;
  return (
    <span class="parts" title={[text, requestId].filter((part) => part !== null).join(' · ')}>
      {fault !== null && <FaultLink fault={fault} {...(isLost && { text: 'reply lost' })} />}
      {fault === null && isLost && <b class="problem">reply lost: the client left first</b>}
      {retry_at !== null && <b>{`wait ${waitSeconds} s, until ${retry_at.slice(11, 19)}`}</b>}
      {isReplay && <Replay of={repeats} />}
      {code !== null && retry_at === null && <span class="mono">{code}</span>}
      {requestId !== null && <span class="dim mono">{requestId}</span>}
      {text !== null && <span>{text}</span>}
    </span>
  );
}
