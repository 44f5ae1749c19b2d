/**
 * The page Messages: the messages that match the filters, and one message in full
 * (`message-detail.tsx`).
 */
import { useSignal } from '@preact/signals';
import { statuses } from '#contract/message-status.ts';
import { state } from '../clock.ts';
import { call, type Message, type Reply, type Status } from '../control.ts';
import { Action } from '../parts/action.tsx';
import { RowDownloads } from '../parts/copy-and-save.tsx';
import { FilterChoices, SearchInput } from '../parts/fields.tsx';
import { Empty, Loaded, Split } from '../parts/frame.tsx';
import { LiveTable } from '../parts/live-table.tsx';
import type { Column } from '../parts/table.tsx';
import { StatusBadge, Time } from '../parts/values.tsx';
import { useReply, useSettled } from '../resource.ts';
import { addressOf, filterValue, setFilter } from '../route.ts';
import { counted } from '../value-texts.ts';
import { accountChoices, accountName, useWorld } from '../world.ts';
import { MessageDetail } from './message-detail.tsx';

const filterNames = ['search', 'status', 'account_id', 'from', 'to', 'request_id'] as const;
type MessageFilter = Readonly<Partial<Record<(typeof filterNames)[number], string>>>;

export function MessagesPage() {
  const filter: MessageFilter = Object.fromEntries(
    filterNames.flatMap((name) => (filterValue(name) === '' ? [] : [[name, filterValue(name)]])),
  );
  // As text, so that equal filters are equal values: the rows stay until typing pauses.
  const settledFilter = useSettled(JSON.stringify(filter));
  return (
    <Split detail={(id) => <MessageDetail id={id} />}>
      <Filters filter={filter} />
      <Rows key={settledFilter} filter={JSON.parse(settledFilter)} />
    </Split>
  );
}

function Filters({ filter }: { readonly filter: MessageFilter }) {
  useWorld();
  const counts = state.value?.messages;
  const countOf = (name: 'total' | Status) =>
    counts === undefined ? '' : ` (${counts[name].toLocaleString('en')})`;
  return (
    <search class="filters">
      <SearchInput name="search" label="Search number, text or id" />
      <FilterChoices
        name="status"
        label="Status"
        any={`any status${countOf('total')}`}
        choices={statuses.map((status) => [status, status + countOf(status)])}
      />
      <FilterChoices
        name="account_id"
        label="Account"
        any="any account"
        choices={accountChoices()}
      />
      {(['from', 'to', 'request_id'] as const)
        .filter((name) => filter[name] !== undefined)
        .map((name) => (
          <Action key={name} act={() => setFilter(name, '')}>
            <span class="hidden">Remove the filter </span>
            {name}: {filter[name]} ×
          </Action>
        ))}
    </search>
  );
}

/** Messages that are shown at once. */
const pageSize = 100;

/** The newest messages that match, and on request older ones. */
function Rows({ filter }: { readonly filter: MessageFilter }) {
  const cursor = useSignal('');
  const input = { ...filter, limit: pageSize, cursor: cursor.value };
  const page = useReply('messages.page', [input], ['messages'], { keepsLastValue: true });
  return (
    <Loaded resource={page} what="messages" isQuiet>
      {({ messages, next_cursor: older }) =>
        messages.length === 0 ? (
          noMessage(Object.keys(filter).length > 0)
        ) : (
          <LiveTable
            key={cursor.value}
            label="Messages"
            columns={columns}
            rows={messages}
            keyOf={({ message_id: id }) => id}
          >
            <RowDownloads read={() => readAll(filter)} file="messages" />
            <span>{counted(messages.length, 'message')}</span>
            {cursor.value !== '' && <Action act={() => (cursor.value = '')}>Newest</Action>}
            {older !== null && <Action act={() => (cursor.value = older)}>Older</Action>}
          </LiveTable>
        )
      }
    </Loaded>
  );
}

function noMessage(isFiltered: boolean) {
  const searchedFields =
    'The search covers both numbers, the text, the request_id and the message_id.';
  if (isFiltered) return <Empty title="No message matches.">{searchedFields}</Empty>;
  return (
    <Empty title="No messages yet.">
      <a href="#/send">Send one from here</a>, or with a key of yours to the service.
    </Empty>
  );
}

/** Every message that matches the filter, also those that are not shown. */
async function readAll(filter: MessageFilter): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const input = { ...filter, limit: 1_000, cursor };
    const page: Reply<'messages.page'> = await call('messages.page', input);
    messages.push(...page.messages);
    cursor = page.next_cursor;
  }
  return messages;
}

const columns: readonly Column<Message>[] = [
  {
    head: 'Accepted',
    cell: (message, above) => (
      <a class="row-link" href={addressOf('messages', message.message_id)}>
        <Time at={message.created_at} above={above?.created_at} />
      </a>
    ),
    class: 'time',
  },
  { head: 'Status', cell: ({ status }) => <StatusBadge status={status} />, class: 'status-column' },
  { head: 'To', cell: ({ to }) => to, class: 'mono number-column' },
  { head: 'From', cell: (message) => message.from_number, class: 'mono wide number-column from' },
  { head: 'Account', cell: ({ account_id: id }) => accountName(id), class: 'wide account-column' },
  { head: 'Text', cell: ({ message }) => message, class: 'subject' },
];
