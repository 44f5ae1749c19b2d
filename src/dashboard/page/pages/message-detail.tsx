/**
 * One message in full: what happened to it, what it waits for, and the exchange that created it.
 */
import { advanceClock, readState, whileRunning } from '../clock.ts';
import { call } from '../control.ts';
import type { Row } from '../lists.ts';
import { Action, CopyButton } from '../parts/action.tsx';
import { Detail } from '../parts/detail.tsx';
import { ExchangeView } from '../parts/exchange.tsx';
import { Loaded } from '../parts/frame.tsx';
import { Trace } from '../parts/trace.tsx';
import { CodeText, type Fact, Facts, StatusBadge, Time } from '../parts/values.tsx';
import { useResource } from '../reading.ts';
import type { Message, Reply, Status } from '../wire.ts';
import { counted, durationText } from '../words.ts';
import { accountName } from '../world.ts';
import { asCurl, asTest, sendBody, sendPath } from './copies.ts';
import { useCaller } from './setups.ts';

const usual: readonly Status[] = ['queued', 'sending', 'sent', 'delivered'];

export function MessageDetail({ id }: { readonly id: string }) {
  const resource = useResource(() => call('messages.get', id), { on: ['message'], key: id });
  const message = resource.value;
  return (
    <Detail
      label="Message"
      title="Message"
      badge={message && <StatusBadge status={message.status} />}
    >
      <Loaded of={resource} what="the message" isQuiet>
        {(one) => <Content message={one} refresh={resource.refresh} />}
      </Loaded>
    </Detail>
  );
}

interface ContentProps {
  readonly message: Message;
  readonly refresh: () => void;
}

function Content({ message, refresh }: ContentProps) {
  const { message_id: id, history, status, failure_reason: reason } = message;
  const { baseUrl, key } = useCaller(message.account_id);
  const body = JSON.stringify(sendBody(message));
  const isFinal = status === 'delivered' || status === 'failed';
  const waiting = useResource(() => call('messages.waiting', id), {
    on: ['message', 'sim', 'clock', 'operation'],
    everyMs: () => (isFinal ? undefined : whileRunning(2_000)),
    key: `${id} ${status}`,
  });
  const creation = useResource(() => readCreation(id), { key: id });
  const isStuck = waiting.value?.waiting_for === 'scripted_fate';
  const onMoved = async () => {
    await readState();
    waiting.refresh();
    refresh();
  };
  return (
    <>
      {!isFinal && waiting.value !== undefined && (
        <WaitingView message={message} waiting={waiting.value} onMoved={onMoved} />
      )}
      {reason !== null && <p class="failure">Failed: {reason}</p>}
      <Trace
        of={{ message_id: id }}
        ahead={
          isFinal || isStuck
            ? []
            : usual.slice(usual.indexOf(history.at(-1)?.status ?? 'queued') + 1)
        }
      />
      <div class="actions">
        <CopyButton text={() => asCurl(baseUrl, sendPath(message), body, key)}>
          Copy as curl
        </CopyButton>
        <CopyButton text={() => asTest(message, accountName(message.account_id))}>
          Copy as test
        </CopyButton>
        <a class="button plain" href={`#/past?message_id=${id}`}>
          At earlier instants
        </a>
      </div>
      <blockquote class="said">{message.message}</blockquote>
      <Facts of={factsOf(message)} />
      <h3 class="section">The exchange that created it</h3>
      <Loaded of={creation} what="the exchange">
        {({ exchange }) =>
          exchange === undefined ? (
            <p class="dim">
              It is not kept: it is older than the last 1,000 requests, or than the last start over.
            </p>
          ) : (
            <ExchangeView exchange={exchange} />
          )
        }
      </Loaded>
    </>
  );
}

type Waiting = Reply<'messages.waiting'>;

interface WaitingProps {
  readonly message: Message;
  readonly waiting: Waiting;
  readonly onMoved: () => Promise<void>;
}

/** Why the message is not final yet, and buttons for the operations that would move it on. */
function WaitingView({ message, waiting, onMoved }: WaitingProps) {
  return (
    <section class="waiting" aria-label="Why it waits">
      <p>
        <CodeText text={waiting.sentence} />{' '}
        {waiting.until !== null && (
          <span class="dim">
            (<Time at={waiting.until} />)
          </span>
        )}
      </p>
      <div class="actions">
        {waiting.would_move.map((name) => {
          const [label, move] = moverOf(name, message, waiting);
          const kind = name === 'messages.fail' ? 'danger' : 'plain';
          return (
            <Action key={name} act={() => move().then(onMoved)} kind={kind}>
              {label}
            </Action>
          );
        })}
      </div>
    </section>
  );
}

type Mover = readonly [label: string, move: () => Promise<unknown>];

function moverOf(
  name: Waiting['would_move'][number],
  { message_id: id, device_id: sim }: Message,
  { waiting_for: reason, until }: Waiting,
): Mover {
  switch (name) {
    case 'clock.advance':
      return ['Advance to then', () => advanceClock({ to: until })];
    case 'sims.poll':
      return ['Poll now', () => call(name, sim)];
    case 'messages.progress':
      return ['Next step', () => call(name, id)];
    case 'messages.fail':
      return ['Make it fail', () => call(name, id)];
    case 'sims.patch': {
      const [label, change] = simChanges[reason] ?? [
        'Let it poll by itself',
        { polling: 'simulated' },
      ];
      return [label, () => call(name, sim, change)];
    }
  }
}

const simChanges: Readonly<Record<string, readonly [label: string, change: Row]>> = {
  sim_active: ['Activate the SIM', { active: true }],
  sim_connected: ['Connect the SIM', { connected: true }],
};

async function readCreation(id: string) {
  const { requests } = await call('requests.list', { message_id: id });
  const created = requests.find(({ status }) => status === 202);
  return { exchange: created && (await call('requests.get', created.number)) };
}

function factsOf(message: Message): readonly Fact[] {
  const { segments, encoding, send_at: sendAt, request_id: requestId } = message;
  const holdMs = sendAt === null ? 0 : Date.parse(sendAt) - Date.parse(message.created_at);
  const length = `${[...message.message].length} characters`;
  return [
    ['To', mono(message.to)],
    ['From', mono(message.from_number)],
    ['Account', accountName(message.account_id)],
    ['Length', `${length}, ${counted(segments, 'segment')}, ${encoding}`],
    [
      'send_at',
      sendAt && (
        <>
          <Time at={sendAt} /> <span class="dim">({durationText(holdMs)} after it came)</span>
        </>
      ),
    ],
    ['request_id', requestId === '' ? <span class="dim">none</span> : mono(requestId)],
    ['message_id', mono(message.message_id)],
    ['device_id', mono(message.device_id)],
  ];
}

function mono(text: string) {
  return <span class="mono">{text}</span>;
}
