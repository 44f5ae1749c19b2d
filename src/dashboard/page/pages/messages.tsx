/**
 * The page Messages: a live list with filters, and one message in full.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { state } from '../clock.ts';
import { Choices, SearchInput } from '../parts/fields.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { StatusBadge } from '../parts/status.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { VirtualTable } from '../parts/virtual-table.tsx';
import { pageArgument } from '../route.ts';
import { type Message, type Status, statuses } from '../wire.ts';
import { accountChoices, accountName, useWorld, type World } from '../world.ts';
import { MessageDetail } from './message-detail.tsx';
import { type MessageFilter, MessageList, noFilter } from './message-list.ts';

const typingPauseMs = 150;

export function MessagesPage() {
  const list = useMemo(() => new MessageList(), []);
  const filter = useSignal<MessageFilter>(noFilter);
  const world = useWorld().value;
  useEffect(() => list.follow(), [list]);
  useEffect(() => {
    if (filter.value === noFilter) return;
    const timer = setTimeout(() => list.show(filter.value), typingPauseMs);
    return () => clearTimeout(timer);
  }, [list, filter.value]);

  const selected = pageArgument.value;
  return (
    <div class={selected === '' ? 'split' : 'split has-detail'}>
      <div class="split-list">
        <Filters
          filter={filter.value}
          world={world}
          onChange={(next) => {
            filter.value = next;
          }}
        />
        <Rows list={list} world={world} isFiltered={isFiltered(filter.value)} />
      </div>
      {selected !== '' && <MessageDetail id={selected} world={world} />}
    </div>
  );
}

function isFiltered(filter: MessageFilter): boolean {
  return filter.search !== '' || filter.status !== '' || filter.account_id !== '';
}

interface FiltersProps {
  readonly filter: MessageFilter;
  readonly world: World | undefined;
  readonly onChange: (filter: MessageFilter) => void;
}

function Filters({ filter, world, onChange }: FiltersProps) {
  const counts = state.value?.messages;
  const counted = (name: 'total' | Status) => (counts === undefined ? '' : ` (${counts[name]})`);
  const change = (name: keyof MessageFilter) => (text: string) =>
    onChange({ ...filter, [name]: text });
  return (
    <search class="filters">
      <SearchInput
        label="Search number, text or id"
        value={filter.search}
        onType={change('search')}
      />
      <Choices
        aria-label="Status"
        value={filter.status}
        onChoose={change('status')}
        choices={[
          { value: '', label: `any status${counted('total')}` },
          ...statuses.map((value) => ({ value, label: value + counted(value) })),
        ]}
      />
      <Choices
        aria-label="Account"
        value={filter.account_id}
        onChoose={change('account_id')}
        choices={[{ value: '', label: 'any account' }, ...(world ? accountChoices(world) : [])]}
      />
    </search>
  );
}

interface RowsProps {
  readonly list: MessageList;
  readonly world: World | undefined;
  readonly isFiltered: boolean;
}

function Rows({ list, world, isFiltered }: RowsProps) {
  // Reading the signal redraws the list after each change of its rows.
  list.version.value;
  const columns = useMemo(() => columnsOf(world), [world]);
  if (list.count === 0) {
    if (list.error.value !== undefined) return <Failure error={list.error.value} />;
    if (list.isLoading.value) return <Loading what="messages" />;
    return isFiltered ? (
      <Empty title="No message matches.">
        <p>The search covers both numbers, the text, the request_id and the message_id.</p>
      </Empty>
    ) : (
      <Empty title="No messages yet.">
        <p>
          <a href="#/send">Send one from here</a>, or with a key of yours to the service.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <VirtualTable
        label="Messages"
        columns={columns}
        count={list.count}
        rowAt={list.at}
        keyOf={(message) => message.message_id}
        selectedKey={pageArgument.value}
        onEnd={list.more}
      />
      <p class="foot dim">
        {list.count.toLocaleString('en')} {list.count === 1 ? 'message' : 'messages'}
        {list.hasMore.value ? ', more below' : ''}
      </p>
    </>
  );
}

function columnsOf(world: World | undefined): Column<Message>[] {
  return [
    {
      head: 'Accepted',
      cell: (message) => (
        <a class="row-link" href={`#/messages/${message.message_id}`}>
          <Time at={message.created_at} />
        </a>
      ),
      kind: 'time',
    },
    { head: 'Status', cell: ({ status }) => <StatusBadge status={status} />, width: '8.75em' },
    { head: 'To', cell: ({ to }) => to, width: '9em', kind: 'mono' },
    { head: 'From', cell: (message) => message.from_number, width: '9em', kind: 'mono wide' },
    {
      head: 'Account',
      cell: ({ account_id: id }) => accountName(world, id),
      width: '7em',
      kind: 'wide',
    },
    { head: 'Text', cell: ({ message }) => message, kind: 'wide' },
  ];
}
