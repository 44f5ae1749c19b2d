/**
 * The page Time machine: the inputs of the run, the world or one message after any of them, and a
 * fork from there.
 */
import { useSignal } from '@preact/signals';
import { statuses } from '../../../sim/status.ts';
import { state } from '../clock.ts';
import { call } from '../control.ts';
import { worldFacts } from '../lists.ts';
import { Action, CopyButton, DownloadButton } from '../parts/action.tsx';
import { Card, Loaded } from '../parts/frame.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Events } from '../parts/trace.tsx';
import { CopyFacts, type Fact, Facts, ReplyStatus, StatusBadge, Time } from '../parts/values.tsx';
import { useResource, useSettled } from '../reading.ts';
import { addressOf, filterValue, pageArgument, setArgument, shownWorld } from '../route.ts';
import type { Message, Reply, State } from '../wire.ts';
import { asTestFrom } from './copies.ts';

type Inputs = Reply<'past.inputs'>;
type Input = Inputs['entries'][number];

/** The inputs around the chosen one. */
const shownInputs = 12;

export function PastPage() {
  const chosen = Number(useSettled(pageArgument.value)) || undefined;
  const inputs = useResource(
    () =>
      call('past.inputs', {
        limit: shownInputs,
        ...(chosen !== undefined && { before: chosen + shownInputs / 2 }),
      }),
    { on: ['operation', 'traffic'], key: String(chosen), keeps: true },
  );
  return (
    <div class="stack">
      <Loaded of={inputs} what="the journal">
        {(value) => <Machine inputs={value} entry={chosen ?? value.lines} />}
      </Loaded>
      <Card title="Take it with you">
        <div class="actions">
          <DownloadButton read={() => call('simulator.journal')} file="journal.ndjson">
            Save the journal
          </DownloadButton>
          <DownloadButton read={() => call('snapshots.take')} file="snapshot.json">
            Save a snapshot
          </DownloadButton>
        </div>
        <p class="dim">
          <code>smstwin replay journal.ndjson</code> plays the journal again and compares every
          reply; a snapshot is restored by the control port, and a world continues from it.
        </p>
      </Card>
    </div>
  );
}

interface MachineProps {
  readonly inputs: Inputs;
  /** A line of the journal. */
  readonly entry: number;
}

function Machine({ inputs, entry }: MachineProps) {
  const { lines, entries, earliest } = inputs;
  const messageId = filterValue('message_id');
  const [newest, oldest] = [entries[0]?.entry ?? 1, entries.at(-1)?.entry ?? 1];
  const link = (text: string, line: number) => (
    <a class="button plain" href={addressOf('past', String(line))}>
      {text}
    </a>
  );
  const isStart = entries.every((one) => one.entry !== entry);
  return (
    <div class="columns">
      <Card
        title="Inputs"
        lead={
          <>
            Every request and every operation that changed something, since <Time at={earliest} />.
          </>
        }
      >
        <label class="scrubber">
          <span>
            Line {entry.toLocaleString('en')} of {lines.toLocaleString('en')}
          </span>
          <input
            type="range"
            min={1}
            max={lines}
            value={pageArgument.value || lines}
            onInput={({ currentTarget }) => setArgument(currentTarget.value)}
          />
        </label>
        <Table
          label="Inputs around this line"
          columns={columnsOf(entry)}
          rows={entries}
          keyOf={(one) => String(one.entry)}
        />
        <p class="actions foot">
          {newest < lines && link('Newer inputs', Math.min(lines, newest + 1 + shownInputs / 2))}
          {oldest > 2 && link('Older inputs', Math.max(2, oldest - shownInputs / 2))}
        </p>
      </Card>
      <Then key={`${entry} ${messageId}`} entry={entry} messageId={messageId} isStart={isStart} />
    </div>
  );
}

function columnsOf(entry: number): readonly Column<Input>[] {
  return [
    {
      head: 'Line',
      namesRow: true,
      cell: (one) => (
        <a
          href={addressOf('past', String(one.entry))}
          aria-current={one.entry === entry ? 'true' : undefined}
        >
          {one.entry}
        </a>
      ),
    },
    { head: 'Time', cell: ({ at }, above) => <Time at={at} above={above?.at} /> },
    {
      head: 'Input',
      cell: ({ input, how, status, number, message_id: id }) => (
        <span class="actions">
          <span class="mono">
            {input} {how}
          </span>
          {status !== null && <ReplyStatus status={status} />}
          {number !== null && (
            <a href={`#/requests/${number}`}>
              <span class="hidden">request </span>
              {number}
            </a>
          )}
          {id !== null && <a href={`#/messages/${id}`}>message</a>}
        </span>
      ),
    },
  ];
}

interface ThenProps {
  readonly entry: number;
  /** Of the message to show; empty: none. */
  readonly messageId: string;
  readonly isStart: boolean;
}

function Then({ entry, messageId, isStart }: ThenProps) {
  const stateAt = (line: number) => call('past.at', { entry: line }) as Promise<State>;
  const states = useResource(() => {
    // The journal may no longer hold the line before.
    const before = entry > 1 ? stateAt(entry - 1).catch(() => undefined) : undefined;
    return Promise.all([stateAt(entry), before]);
  });
  const forked = useSignal<Reply<'worlds.fork'> | undefined>(undefined);
  const fork = async () => {
    forked.value = await call('worlds.fork', shownWorld, { from: { entry } });
  };
  const [after] = states.value ?? [];
  const testFrom = (then: State) => asTestFrom(entry, shownWorld, then, location.origin);
  return (
    <Card
      title={`The world after line ${entry.toLocaleString('en')}`}
      head={
        <div class="actions">
          {after !== undefined && (
            <CopyButton text={() => testFrom(after)}>Copy as test</CopyButton>
          )}
          <Action act={fork} kind="main">
            Fork here
          </Action>
        </div>
      }
    >
      {forked.value !== undefined && (
        <div role="alert">
          <p>
            The fork goes on from here, apart from this world, without its list of requests:{' '}
            <a href={`/w/${forked.value.world_id}/#/home`}>open it</a>, or{' '}
            <a href={`#/worlds?with=${forked.value.world_id}`}>compare it with this one</a>.
          </p>
          <CopyFacts of={worldFacts(forked.value)} />
        </div>
      )}
      <Loaded of={states} what="that instant">
        {([then, before]) => (
          <>
            {before !== undefined && <p class="dim">→ shows what changed since the line before.</p>}
            <Facts of={differences(before ?? then, then, state.value)} />
          </>
        )}
      </Loaded>
      {messageId !== '' && <MessageThen entry={entry} id={messageId} />}
      {isStart && messageId === '' && <p class="dim">This is the start.</p>}
    </Card>
  );
}

/** Counts after a line, what changed since the line before, and where they differ from now. */
function differences(before: State, after: State, now: State | undefined): readonly Fact[] {
  const count = (name: string, of: (state: State) => number): Fact => {
    const [was, is, last] = [of(before), of(after), now && of(now)];
    return [
      name,
      <>
        {was !== is && `${was.toLocaleString('en')} → `}
        {was === is ? is.toLocaleString('en') : <b>{is.toLocaleString('en')}</b>}{' '}
        {last !== undefined && last !== is && (
          <span class="dim">(now {last.toLocaleString('en')})</span>
        )}
      </>,
    ];
  };
  const [from, to] = [before.clock.now, after.clock.now];
  return [
    [
      'Time',
      <>
        {from !== to && (
          <>
            <Time at={from} /> →{' '}
          </>
        )}
        <Time at={to} />
      </>,
    ],
    count('Requests', ({ requests }) => requests),
    count('Messages', ({ messages }) => messages.total),
    ...statuses.map((status) => count(status, ({ messages }) => messages[status])),
    count('Timers', ({ timers }) => timers),
    count('Faults', ({ faults }) => faults),
  ];
}

function MessageThen({ entry, id }: { readonly entry: number; readonly id: string }) {
  const message = useResource(() => call('past.at', { entry, message_id: id }) as Promise<Message>);
  return (
    <>
      <h3 class="section">
        <a href={`#/messages/${id}`}>The message to look at</a>{' '}
        {message.value !== undefined && <StatusBadge status={message.value.status} />}
      </h3>
      {message.error !== undefined && <p class="dim">It was not there yet.</p>}
      {message.value !== undefined && (
        <Events
          of={message.value.history.map(({ status, at }) => ({ kind: 'status', at, text: status }))}
        />
      )}
    </>
  );
}
