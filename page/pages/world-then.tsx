/**
 * The world as it was after a line of its journal, and one message of it if the address names one.
 * Shows what that line changed, and forks the world from there. Part of the page Time machine.
 */
import { useSignal } from '@preact/signals';
import { statuses } from '#contract/message-status.ts';
import { state } from '../clock.ts';
import { call } from '../control.ts';
import { worldFacts } from '../lists.ts';
import { Action } from '../parts/action.tsx';
import { CopyButton } from '../parts/copy-and-save.tsx';
import { Card, Loaded } from '../parts/frame.tsx';
import { Timeline } from '../parts/timeline.tsx';
import { CopyFacts, type Fact, Facts, StatusBadge, Time } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import { shownWorld } from '../route.ts';
import type { Message, Reply, State } from '../wire.ts';
import { asTestFrom } from './copies.ts';

interface WorldThenProps {
  readonly line: number;
  /** The message to show; empty: none. */
  readonly messageId: string;
  /** True if the line is not an input: it is the start of the journal. */
  readonly isStart: boolean;
}

export function WorldThen({ line, messageId, isStart }: WorldThenProps) {
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
  const [stateThen] = states.value ?? [];
  return (
    <Card
      title={`The world after line ${line.toLocaleString('en')}`}
      head={
        <div class="actions">
          {stateThen !== undefined && (
            <CopyButton text={() => asTestFrom(line, shownWorld, stateThen, location.origin)}>
              Copy as test
            </CopyButton>
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
          <CopyFacts facts={worldFacts(forked.value)} />
        </div>
      )}
      <Loaded resource={states} what="that instant">
        {([after, before]) => (
          <>
            {before !== undefined && <p class="dim">→ shows what changed since the line before.</p>}
            <Facts facts={differences(before ?? after, after, state.value)} />
          </>
        )}
      </Loaded>
      {messageId !== '' && <MessageThen line={line} id={messageId} />}
      {isStart && messageId === '' && <p class="dim">This is the start.</p>}
    </Card>
  );
}

/** Each count after a line; also before the line and now, where they differ. */
function differences(before: State, after: State, now: State | undefined): readonly Fact[] {
  const count = (name: string, countIn: (state: State) => number): Fact => [
    name,
    <CountChange before={countIn(before)} after={countIn(after)} now={now && countIn(now)} />,
  ];
  const [timeBefore, timeAfter] = [before.clock.now, after.clock.now];
  return [
    [
      'Time',
      <>
        {timeBefore !== timeAfter && (
          <>
            <Time at={timeBefore} /> →{' '}
          </>
        )}
        <Time at={timeAfter} />
      </>,
    ],
    count('Requests', ({ requests }) => requests),
    count('Messages', ({ messages }) => messages.total),
    ...statuses.map((status) => count(status, ({ messages }) => messages[status])),
    count('Timers', ({ timers }) => timers),
    count('Faults', ({ faults }) => faults),
  ];
}

interface CountChangeProps {
  readonly before: number;
  readonly after: number;
  readonly now: number | undefined;
}

function CountChange({ before, after, now }: CountChangeProps) {
  const afterText = after.toLocaleString('en');
  return (
    <>
      {before !== after && `${before.toLocaleString('en')} → `}
      {before === after ? afterText : <b>{afterText}</b>}{' '}
      {now !== undefined && now !== after && (
        <span class="dim">(now {now.toLocaleString('en')})</span>
      )}
    </>
  );
}

function MessageThen({ line, id }: { readonly line: number; readonly id: string }) {
  const message = useResource(
    () => call('past.at', { entry: line, message_id: id }) as Promise<Message>,
  );
  return (
    <>
      <h3 class="section">
        <a href={`#/messages/${id}`}>The message to look at</a>{' '}
        {message.value !== undefined && <StatusBadge status={message.value.status} />}
      </h3>
      {message.error !== undefined && <p class="dim">It was not there yet.</p>}
      {message.value !== undefined && (
        <Timeline
          events={message.value.history.map(({ status, at }) => ({
            kind: 'status',
            at,
            text: status,
          }))}
        />
      )}
    </>
  );
}
