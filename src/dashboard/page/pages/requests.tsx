/**
 * The page Requests: the last thousand requests to the service, newest first, with filters.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { call } from '../control.ts';
import { onEvents } from '../events.ts';
import { Choices, choicesOf } from '../parts/fields.tsx';
import { Empty, Loaded } from '../parts/notices.tsx';
import { ReplyStatus } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { VirtualTable } from '../parts/virtual-table.tsx';
import { Reading } from '../reading.ts';
import { endpoints, type ServiceRequest } from '../wire.ts';
import { accountName, useWorld, type World } from '../world.ts';

const mostKept = 1_000;

const answers = [
  { value: '', label: 'any answer' },
  ...choicesOf(['passed', 'refused']),
  { value: 'throttled', label: 'throttled (429)' },
];

export function RequestsPage() {
  const requests = useSignal<readonly ServiceRequest[] | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const endpoint = useSignal('');
  const outcome = useSignal('');
  const world = useWorld().value;
  const columns = useMemo(() => columnsOf(world), [world]);
  useEffect(() => {
    // Requests that arrived while the list was loading.
    let news: readonly ServiceRequest[] = [];
    const reading = new Reading(
      () => call('requests.list'),
      (read) => {
        requests.value = withNews(read.requests, news);
        error.value = undefined;
      },
      (failure) => {
        error.value = failure;
      },
    );
    reading.now();
    const end = onEvents('request', (events) => {
      news = events === undefined ? [] : [...news, ...events].slice(-mostKept);
      if (events === undefined) reading.soon();
      else requests.value = withNews(requests.value ?? [], events);
    });
    return () => {
      end();
      reading.stop();
    };
  }, [requests, error]);
  const shown = requests.value?.filter(
    (one) =>
      (endpoint.value === '' || one.endpoint === endpoint.value) &&
      (outcome.value === '' || outcomeOf(one) === outcome.value),
  );
  return (
    <div class="split-list fill">
      <search class="filters">
        <Choices
          aria-label="Endpoint"
          value={endpoint.value}
          onChoose={(value) => {
            endpoint.value = value;
          }}
          choices={[{ value: '', label: 'any endpoint' }, ...choicesOf(endpoints)]}
        />
        <Choices
          aria-label="Answer"
          value={outcome.value}
          onChoose={(value) => {
            outcome.value = value;
          }}
          choices={answers}
        />
      </search>
      <Loaded of={{ value: shown, error: error.value }} what="requests">
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={requests.value?.length === 0 ? 'No request yet.' : 'No request fits.'}>
              <p>Requests to the service appear here as they arrive.</p>
            </Empty>
          ) : (
            <>
              <VirtualTable
                label="Requests"
                columns={columns}
                count={rows.length}
                rowAt={(index) => rows[index]}
                keyOf={({ number }) => String(number)}
              />
              <p class="foot dim">
                {rows.length.toLocaleString('en')} of the last {mostKept.toLocaleString('en')}
              </p>
            </>
          )
        }
      </Loaded>
    </div>
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

function outcomeOf({ status }: ServiceRequest): string {
  return status < 400 ? 'passed' : status === 429 ? 'throttled' : 'refused';
}

function columnsOf(world: World | undefined): Column<ServiceRequest>[] {
  return [
    { head: '#', cell: ({ number }) => number, width: '6em', kind: 'number wide' },
    { head: 'Time', cell: ({ at }) => <Time at={at} />, kind: 'time' },
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
    { head: 'Code', cell: ({ code }) => code, kind: 'mono wide' },
    {
      head: 'Took',
      cell: ({ duration_ms: ms }) => `${ms.toFixed(2)} ms`,
      width: '7em',
      kind: 'number wide',
    },
  ];
}
