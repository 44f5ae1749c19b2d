/** One message in full: what happened to it, and what it waits for. */
import { durationText } from '#contract/time.ts';
import { advanceClock, whileRunning } from '../clock.ts';
import { call, type Message, type Reply, type Status } from '../control.ts';
import type { Row } from '../list-declaration.ts';
import { Action } from '../parts/action.tsx';
import { asCurl, CopyButton, CopyTest, sendPath } from '../parts/copy-and-save.tsx';
import { Detail, Loaded } from '../parts/frame.tsx';
import { Trace } from '../parts/timeline.tsx';
import { CodeText, type Fact, Facts, StatusBadge, Time } from '../parts/values.tsx';
import { useReply } from '../resource.ts';
import { counted } from '../value-texts.ts';
import { accountName, useKey } from '../world.ts';

export function MessageDetail({ id }: { readonly id: string }) {
  const resource = useReply('messages.get', [id], ['messages']);
  const message = resource.value;
  return (
    <Detail title="Message" badge={message && <StatusBadge status={message.status} />}>
      <Loaded resource={resource} what="the message" isQuiet>
        {(loaded) => <Content message={loaded} />}
      </Loaded>
    </Detail>
  );
}

function Content({ message }: { readonly message: Message }) {
  const { message_id: id, status, failure_reason: reason } = message;
  const key = useKey(message.account_id);
  const body = JSON.stringify(sendBody(message));
  const isFinal = status === 'delivered' || status === 'failed';
  const changes = ['messages', 'sim', 'clock', 'operation'] as const;
  const waiting = useReply('messages.waiting', [id], changes, {
    everyMs: () => (isFinal ? undefined : whileRunning(2_000)),
    key: `${id} ${status}`,
  });
  const isStuck = waiting.value?.waiting_for === 'scripted_fate';
  return (
    <>
      {!isFinal && waiting.value && waitingView(message, waiting.value)}
      {reason !== null && <p class="failure">Failed: {reason}</p>}
      <Trace
        intent={{ message_id: id }}
        expectedStatuses={isFinal || isStuck ? [] : statusesToCome(message)}
      />
      <div class="actions">
        <CopyButton text={() => asCurl(sendPath(message), body, key)}>Copy as curl</CopyButton>
        <CopyTest input={{ message_id: id }} />
        <a class="button plain" href={`#/past?message_id=${id}`}>
          At earlier instants
        </a>
        <a class="button plain" href={`#/requests?search=message_id%3A${id}`}>
          Its exchanges
        </a>
      </div>
      <blockquote class="said">{message.message}</blockquote>
      <Facts facts={factsOf(message)} />
    </>
  );
}

/** The statuses of a message that does not fail. */
const usualStatuses: readonly Status[] = ['queued', 'sending', 'sent', 'delivered'];

function statusesToCome({ history }: Message): readonly Status[] {
  const last = history.at(-1)?.status ?? 'queued';
  return usualStatuses.slice(usualStatuses.indexOf(last) + 1);
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
    ['send_at', sendAt && [<Time at={sendAt} />, ` (${durationText(holdMs)} after it came)`]],
    ['request_id', requestId === '' ? <span class="dim">none</span> : mono(requestId)],
    ['message_id', mono(message.message_id)],
    ['device_id', mono(message.device_id)],
  ];
}

const mono = (text: string) => <span class="mono">{text}</span>;

type Waiting = Reply<'messages.waiting'>;

/** Why a message waits, and what would move it. */
function waitingView(message: Message, waiting: Waiting) {
  const { sentence, until, would_move: moves } = waiting;
  return (
    <section class="waiting" aria-label="Why it waits">
      <p>
        <CodeText text={sentence} /> {until !== null && ['(', <Time at={until} />, ')']}
      </p>
      <div class="actions">
        {moves.map((name) => {
          const [label, run] = moveBy(name, message, waiting);
          const kind = name === 'messages.fail' ? 'danger' : 'plain';
          return (
            <Action key={name} act={run} kind={kind}>
              {label}
            </Action>
          );
        })}
      </div>
    </section>
  );
}

/** A button that moves the message on: its text and what it does. */
function moveBy(
  name: Waiting['would_move'][number],
  { message_id: id, device_id: sim }: Message,
  { waiting_for: reason, until }: Waiting,
): readonly [label: string, run: () => Promise<unknown>] {
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
      const other = ['Let it poll by itself', { polling: 'simulated' }] as const;
      const [label, change] = simChanges[reason] ?? other;
      return [label, () => call(name, sim, change)];
    }
  }
}

/** What ends each reason for waiting: the button's text and the change to the SIM. */
const simChanges: Readonly<Record<string, readonly [label: string, change: Row]>> = {
  sim_active: ['Activate the SIM', { active: true }],
  sim_connected: ['Connect the SIM', { connected: true }],
};

/** The body of the send that created the message, with the document's field names. */
function sendBody(message: Message) {
  return {
    to: message.to,
    from: message.from_number,
    message: message.message,
    ...(message.request_id !== '' && { request_id: message.request_id }),
    ...(message.send_at !== null && { send_at: message.send_at }),
  };
}
