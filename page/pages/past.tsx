/**
 * The page Time machine. The journal has a line for every input of the run. The page lists the
 * inputs and shows the world after the chosen one: what that line changed, one message as of then
 * if the address names it, and a fork from there.
 */
import { useSignal } from '@preact/signals';
import { matchRoute } from '#contract/routes.ts';
import { state } from '../clock.ts';
import { call, type Message, type Reply, type State } from '../control.ts';
import { worldFacts } from '../lists.ts';
import { Action } from '../parts/action.tsx';
import { CopyTest, DownloadButton } from '../parts/copy-and-save.tsx';
import { Card, Loaded } from '../parts/frame.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Timeline } from '../parts/timeline.tsx';
import { CopyFacts, type Fact, Facts, ReplyStatus, StatusBadge, Time } from '../parts/values.tsx';
import { useReply, useResource, useSettled } from '../resource.ts';
import { addressOf, filterValue, pageArgument, setArgument, shownWorld } from '../route.ts';

type Journal = Reply<'past.inputs'>;
/** An input of the journal; `entry` is the number of its line. */
type Entry = Journal['entries'][number];

const shownInputs = 12;
/** The list ends before this many lines after the chosen one, so up to five inputs follow it. */
const linesToEnd = shownInputs / 2;

export function PastPage() {
  const line = Number(useSettled(pageArgument.value)) || undefined;
  const input = { limit: shownInputs, before: line && line + linesToEnd };
  const changes = ['operation', 'traffic'] as const;
  const inputs = useReply('past.inputs', [input], changes, { keepsLastValue: true });
  return (
    <div class="stack">
      <p>
        This page goes back; Clock shows <a href="#/clock">what the next hour would change</a>.
      </p>
      <Loaded resource={inputs} what="the journal">
        {(journal) => <TimeMachine journal={journal} chosen={line ?? journal.lines} />}
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
          reply; a snapshot is restored on the control port.
        </p>
      </Card>
    </div>
  );
}

/** Line 1 is the start of the journal. */
const firstInputLine = 2;

/** `chosen`: the line of the journal that the address names. */
function TimeMachine({ journal, chosen }: { readonly journal: Journal; readonly chosen: number }) {
  const { lines, entries, earliest } = journal;
  const line = Math.min(chosen, lines);
  const messageId = filterValue('message_id');
  const newest = entries[0]?.entry ?? 1;
  const oldest = entries.at(-1)?.entry ?? 1;
  const linkTo = (target: number, text: string) => (
    <a class="button plain" href={addressOf('past', String(target))}>
      {text}
    </a>
  );
  const since = <Time at={earliest} />;
  return (
    <div class="columns">
      <Card
        title="Inputs"
        lead={<>Every request and every operation that changed something, since {since}.</>}
      >
        <label class="scrubber">
          <span>{`Line ${line.toLocaleString('en')} of ${lines.toLocaleString('en')}`}</span>
          <input
            type="range"
            min={1}
            max={lines}
            value={pageArgument.value || lines}
            onInput={({ currentTarget }) => setArgument(currentTarget.value)}
          />
        </label>
        <Table
          label="inputs around this line"
          columns={columns}
          rows={entries}
          keyOf={({ entry }) => String(entry)}
        />
        <p class="actions foot">
          {newest < lines && linkTo(Math.min(lines, newest + 1 + linesToEnd), 'Newer inputs')}
          {oldest > firstInputLine &&
            linkTo(Math.max(firstInputLine, oldest - linesToEnd), 'Older inputs')}
        </p>
      </Card>
      <WorldThen key={`${line} ${messageId}`} line={line} />
    </div>
  );
}

/** An operation, or a request by its endpoint, as on the page Requests. */
function inputName(input: string): string {
  return matchRoute(input.split(' ')[1] ?? '')?.route.endpoint ?? input;
}

const columns: readonly Column<Entry>[] = [
  {
    head: 'Line',
    namesRow: true,
    cell: ({ entry }) => (
      <a
        href={addressOf('past', String(entry))}
        aria-current={String(entry) === pageArgument.value ? 'true' : undefined}
      >
        {entry}
      </a>
    ),
  },
  { head: 'Time', cell: ({ at }, above) => <Time at={at} above={above?.at} /> },
  {
    head: 'Input',
    cell: ({ input, how, status, number, message_id: id }) => (
      <span class="actions">
        <span class="mono">{`${inputName(input)} ${how ?? ''}`}</span>
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

function WorldThen({ line }: { readonly line: number }) {
  const messageId = filterValue('message_id');
  const stateAt = (entry: number) => call('past.at', { entry }) as Promise<State>;
  const states = useResource(() => {
    // The journal may no longer hold the line before.
    const before = line > 1 ? stateAt(line - 1).catch(() => undefined) : undefined;
    return Promise.all([stateAt(line), before]);
  });
  const forked = useSignal<Reply<'worlds.fork'> | undefined>(undefined);
  const fork = async () => {
    forked.value = await call('worlds.fork', shownWorld, { from: { entry: line } });
  };
  return (
    <Card
      title={`The world after line ${line.toLocaleString('en')}`}
      head={
        <div class="actions">
          <CopyTest input={{ entry: line }} />
          <Action act={fork} kind="main">
            Fork here
          </Action>
          <Action
            act={() => call('past.goBack', { entry: line })}
            warning="This world is then as it was after this line, clock included. The journal keeps what came since: going to its last line before this takes it back."
          >
            Go back to here
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
          <CopyFacts facts={worldFacts(forked.value)} />
        </div>
      )}
      <Loaded resource={states} what="that instant">
        {([after, before]) => [
          before && <p class="dim lead">→ shows what changed since the line before.</p>,
          <Facts facts={differences(before ?? after, after, state.value)} />,
        ]}
      </Loaded>
      {messageId !== '' && <MessageThen line={line} id={messageId} />}
    </Card>
  );
}

function countsIn({ requests, messages, timers, faults }: State): Readonly<Record<string, number>> {
  const { total, ...byStatus } = messages;
  return { Requests: requests, Messages: total, ...byStatus, Timers: timers, Faults: faults };
}

/** Time and counts after a line; also before the line and now, where they differ. */
function differences(before: State, after: State, now: State | undefined): readonly Fact[] {
  const times = [...new Set([before.clock.now, after.clock.now])];
  return [
    ['Time', times.map((at, index) => [index > 0 && ' → ', <Time key={at} at={at} />])],
    ...Object.keys(countsIn(after)).map((name): Fact => {
      const text = (state: State) => countsIn(state)[name]?.toLocaleString('en');
      const shown = text(after);
      const change = text(before) === shown ? shown : [`${text(before)} → `, <b>{shown}</b>];
      return [
        name,
        [change, now && text(now) !== shown && <span class="dim"> (now {text(now)})</span>],
      ];
    }),
  ];
}

function MessageThen({ line, id }: { readonly line: number; readonly id: string }) {
  const { value, error } = useReply('past.at', [{ entry: line, message_id: id }]);
  const message = value as Message | undefined;
  const events = message?.history.map(
    ({ status, at }) => ({ kind: 'status', at, text: status }) as const,
  );
  return (
    <>
      <h3 class="section">
        <a href={`#/messages/${id}`}>The message to look at</a>{' '}
        {message && <StatusBadge status={message.status} />}
      </h3>
      {error !== undefined && <p class="dim">It was not there yet.</p>}
      {events && <Timeline events={events} />}
    </>
  );
}
