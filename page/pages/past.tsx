/**
 * The page Time machine. The journal holds every input of the run, one a line. The page lists the
 * inputs; `world-then.tsx` shows the world after the chosen one.
 */
import { call } from '../control.ts';
import { DownloadButton } from '../parts/copy-and-save.tsx';
import { Card, Loaded } from '../parts/frame.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { ReplyStatus, Time } from '../parts/values.tsx';
import { useResource, useSettled } from '../resource.ts';
import { addressOf, filterValue, pageArgument, setArgument } from '../route.ts';
import type { Reply } from '../wire.ts';
import { WorldThen } from './world-then.tsx';

type Journal = Reply<'past.inputs'>;
/** Its field `entry` is the number of its line. */
type Entry = Journal['entries'][number];

const shownInputs = 12;
/**
 * `before` is this many lines after the chosen line, and exclusive: up to five inputs follow it.
 */
const linesToEnd = shownInputs / 2;

export function PastPage() {
  const chosenLine = Number(useSettled(pageArgument.value)) || undefined;
  const inputs = useResource(
    () =>
      call('past.inputs', {
        limit: shownInputs,
        ...(chosenLine !== undefined && { before: chosenLine + linesToEnd }),
      }),
    { rereadAfter: ['operation', 'traffic'], key: String(chosenLine), keepsLastValue: true },
  );
  return (
    <div class="stack">
      <Loaded resource={inputs} what="the journal">
        {(journal) => <TimeMachine journal={journal} line={chosenLine ?? journal.lines} />}
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

/** Line 1 is the start of the journal. */
const firstInputLine = 2;

interface TimeMachineProps {
  readonly journal: Journal;
  /** The chosen line of the journal. */
  readonly line: number;
}

function TimeMachine({ journal, line }: TimeMachineProps) {
  const { lines, entries, earliest } = journal;
  const messageId = filterValue('message_id');
  const [newest, oldest] = [entries[0]?.entry ?? 1, entries.at(-1)?.entry ?? 1];
  const linkTo = (target: number, text: string) => (
    <a class="button plain" href={addressOf('past', String(target))}>
      {text}
    </a>
  );
  // Only the lines of inputs are listed.
  const isStart = entries.every(({ entry }) => entry !== line);
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
            Line {line.toLocaleString('en')} of {lines.toLocaleString('en')}
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
          columns={columnsWith(line)}
          rows={entries}
          keyOf={({ entry }) => String(entry)}
        />
        <p class="actions foot">
          {newest < lines && linkTo(Math.min(lines, newest + 1 + linesToEnd), 'Newer inputs')}
          {oldest > firstInputLine &&
            linkTo(Math.max(firstInputLine, oldest - linesToEnd), 'Older inputs')}
        </p>
      </Card>
      <WorldThen key={`${line} ${messageId}`} line={line} messageId={messageId} isStart={isStart} />
    </div>
  );
}

function columnsWith(chosenLine: number): readonly Column<Entry>[] {
  return [
    {
      head: 'Line',
      namesRow: true,
      cell: ({ entry }) => (
        <a
          href={addressOf('past', String(entry))}
          aria-current={entry === chosenLine ? 'true' : undefined}
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
