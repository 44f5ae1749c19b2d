/**
 * One message in full: its history, what it waits for, and the exchange that created it.
 */
import { call } from '../control.ts';
import { CopyButton } from '../parts/action.tsx';
import { Detail } from '../parts/detail.tsx';
import { ExchangeView } from '../parts/exchange.tsx';
import { type Fact, Facts } from '../parts/facts.tsx';
import { Failure, Loaded, Loading } from '../parts/notices.tsx';
import { StatusBadge } from '../parts/status.tsx';
import { durationText, Time } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import type { Exchange, Message } from '../wire.ts';
import { accountName, type World } from '../world.ts';
import { acceptedBody, asCurl, asTest, sendBody, sendPath } from './copies.ts';
import { useCaller } from './setups.ts';
import { Timeline } from './timeline.tsx';
import { WaitingView } from './waiting.tsx';

const accepted = 202;

interface DetailProps {
  readonly id: string;
  readonly world: World | undefined;
}

export function MessageDetail({ id, world }: DetailProps) {
  const resource = useResource(() => call('messages.get', id), { on: ['message'], key: id });
  const message = resource.value;
  return (
    <Detail
      label="Message"
      name={id}
      head={
        <>
          <h2>Message</h2>
          {message !== undefined && <StatusBadge status={message.status} />}
        </>
      }
    >
      <Loaded of={resource} what="the message" isQuiet>
        {(one) => <Content message={one} world={world} refresh={resource.refresh} />}
      </Loaded>
    </Detail>
  );
}

interface ContentProps {
  readonly message: Message;
  readonly world: World | undefined;
  readonly refresh: () => void;
}

function Content({ message, world, refresh }: ContentProps) {
  const { baseUrl, key } = useCaller(message.account_id);
  const body = JSON.stringify(sendBody(message));
  return (
    <>
      <Timeline message={message} />
      {!isFinal(message) && <WaitingView message={message} onMoved={refresh} />}
      <div class="actions">
        <CopyButton text={() => asCurl(baseUrl, sendPath(message), body, key)}>
          Copy as curl
        </CopyButton>
        <CopyButton text={() => asTest(message, accountName(world, message.account_id))}>
          Copy as test
        </CopyButton>
      </div>
      <blockquote class="said">{message.message}</blockquote>
      <Facts of={factsOf(message, world)} />
      <Creation message={message} />
    </>
  );
}

function isFinal({ status }: Message): boolean {
  return status === 'delivered' || status === 'failed';
}

/**
 * The recorded exchange if it is one of the last requests; otherwise one rebuilt from the message.
 */
function Creation({ message }: { readonly message: Message }) {
  const { value, error } = useResource(() => readCreation(message.message_id), {
    key: message.message_id,
  });
  if (value === undefined && error === undefined) return <Loading what="the exchange" />;
  const kept = value?.exchange;
  return (
    <>
      <h3 class="section">
        The exchange that created it
        {kept === undefined && <span class="badge status-queued after">reconstructed</span>}
      </h3>
      {kept === undefined && (
        <p class="dim">
          The request is no longer kept. This is rebuilt from the message: the spelling and order of
          its fields, and any other fields, are not known.
        </p>
      )}
      <Failure error={error} />
      <ExchangeView exchange={kept ?? reconstructed(message)} />
    </>
  );
}

async function readCreation(id: string): Promise<{ readonly exchange: Exchange | undefined }> {
  const { requests } = await call('requests.list', { message_id: id });
  const created = requests.find(({ status }) => status === accepted);
  if (created === undefined) return { exchange: undefined };
  return { exchange: await call('requests.get', created.number) };
}

function reconstructed(message: Message): Exchange {
  return {
    request: {
      method: 'POST',
      path: sendPath(message),
      headers: { authorization: 'Bearer …', 'content-type': 'application/json' },
      body: JSON.stringify(sendBody(message)),
    },
    reply: { status: accepted, headers: {}, body: JSON.stringify(acceptedBody(message)) },
    fault: null,
  };
}

function factsOf(message: Message, world: World | undefined): readonly Fact[] {
  const { segments, encoding, send_at: sendAt, request_id: requestId } = message;
  const holdMs = sendAt === null ? 0 : Date.parse(sendAt) - Date.parse(message.created_at);
  const length = `${[...message.message].length} characters, ${segments}`;
  return [
    ['To', mono(message.to)],
    ['From', mono(message.from_number)],
    ['Account', accountName(world, message.account_id)],
    ['Length', `${length} ${segments === 1 ? 'segment' : 'segments'}, ${encoding}`],
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
