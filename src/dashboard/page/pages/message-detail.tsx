/**
 * One message in full: what happened to it, what it waits for, and the exchange that created it.
 */
import { call } from '../control.ts';
import { CopyButton } from '../parts/action.tsx';
import { Detail } from '../parts/detail.tsx';
import { ExchangeView } from '../parts/exchange.tsx';
import { Loaded } from '../parts/notices.tsx';
import { Trace } from '../parts/trace.tsx';
import { type Fact, Facts, StatusBadge, Time } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import type { Message, Status } from '../wire.ts';
import { counted, durationText } from '../words.ts';
import { accountName } from '../world.ts';
import { asCurl, asTest, sendBody, sendPath } from './copies.ts';
import { useCaller } from './setups.ts';
import { useWaiting, WaitingView } from './waiting.tsx';

const usual: readonly Status[] = ['queued', 'sending', 'sent', 'delivered'];

export function MessageDetail({ id }: { readonly id: string }) {
  const resource = useResource(() => call('messages.get', id), { on: ['message'], key: id });
  const message = resource.value;
  return (
    <Detail
      label="Message"
      name={id}
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
  const { message_id: id, history, failure_reason: reason } = message;
  const { baseUrl, key } = useCaller(message.account_id);
  const body = JSON.stringify(sendBody(message));
  const last = history.at(-1)?.status;
  const isFinal = last === 'delivered' || last === 'failed';
  const waiting = useWaiting(message);
  const isStuck = waiting.value?.waiting_for === 'scripted_fate';
  return (
    <>
      {!isFinal && <WaitingView message={message} waiting={waiting} onMoved={refresh} />}
      {reason !== null && <p class="failure">Failed: {reason}</p>}
      <Trace
        of={{ message_id: id }}
        ahead={isFinal || isStuck ? [] : usual.slice(usual.indexOf(last ?? 'queued') + 1)}
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
      <Creation id={id} />
    </>
  );
}

function Creation({ id }: { readonly id: string }) {
  const creation = useResource(() => readCreation(id), { key: id });
  return (
    <>
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
