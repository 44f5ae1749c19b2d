/**
 * The page Send: a form with the document's fields, and the request and reply that it made, errors
 * included.
 */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { segmentText } from '../../../sim/segments.ts';
import { nowMs, readState, state } from '../clock.ts';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { CopyButton } from '../parts/action.tsx';
import { ExchangeView } from '../parts/exchange.tsx';
import { Select, Submit, type Text, TextArea, TextField } from '../parts/fields.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { isoTime } from '../parts/time.tsx';
import type { Exchange } from '../wire.ts';
import { accountChoices, useWorld, type World } from '../world.ts';
import { asCurl } from './copies.ts';

const mostCharacters = 1_600;

const endpointChoices = [
  { value: '/api/v1/sms/send/', label: 'v1 send' },
  { value: '/api/sms/send/', label: 'dashboard send' },
  { value: '/api/external/send/', label: 'external send' },
];

const scripted: readonly (readonly [string, string])[] = [
  ['+12025550123', 'is delivered'],
  ['+12025550160', 'fails while queued'],
  ['+12025550161', 'fails while sending'],
  ['+12025550162', 'fails while sent'],
  ['+12025550163', 'stays queued'],
  ['+12025550164', 'stays sending'],
  ['+12025550165', 'stays sent'],
  ['+12025550166', 'each step takes three polls'],
];

export function SendPage() {
  const world = useWorld().value;
  const exchange = useSignal<Exchange | undefined>(undefined);
  if (world === undefined) return <Loading what="accounts" />;
  if (world.accounts.length === 0) return <Empty title="There is no account to send from." />;
  return (
    <div class="columns">
      <SendForm
        world={world}
        onExchange={(made) => {
          exchange.value = made;
        }}
      />
      <section class="card" aria-label="Exchange" aria-live="polite">
        {exchange.value === undefined ? (
          <Empty title="The exchange appears here.">
            <p>Shows what was sent over the wire: headers, bodies and errors, without the key.</p>
          </Empty>
        ) : (
          <Outcome exchange={exchange.value} />
        )}
      </section>
    </div>
  );
}

function Outcome({ exchange }: { readonly exchange: Exchange }) {
  const id = messageIdOf(exchange);
  const { path, body } = exchange.request;
  return (
    <>
      <ExchangeView exchange={exchange} />
      <div class="actions">
        {id !== undefined && (
          <a class="button main" href={`#/messages/${id}`}>
            Watch this message
          </a>
        )}
        <CopyButton text={() => asCurl(state.value?.base_url ?? '', path, body ?? '')}>
          Copy as curl
        </CopyButton>
      </div>
    </>
  );
}

function messageIdOf({ reply }: Exchange): string | undefined {
  try {
    const { message_id: id } = JSON.parse(reply.body ?? '') as { message_id?: string };
    return id;
  } catch {
    return undefined;
  }
}

interface SendFormProps {
  readonly world: World;
  readonly onExchange: (exchange: Exchange) => void;
}

function SendForm({ world, onExchange }: SendFormProps) {
  const path = useSignal('/api/v1/sms/send/');
  const accountId = useSignal(world.accounts[0]?.account_id ?? '');
  const from = useSignal('');
  const otherFrom = useSignal('');
  const to = useSignal('+12025550123');
  const text = useSignal('Hello from the dashboard');
  const sendAt = useSignal('');
  const requestId = useSignal('');

  const senders = useMemo(() => sendersOf(world, accountId.value), [world, accountId.value]);
  const isOther = from.value === 'other';
  const chosen = senders.some(({ value }) => value === from.value)
    ? from.value
    : (senders[0]?.value ?? '');

  const sending = useSending(async () => {
    const body = {
      to: to.value,
      from: isOther ? otherFrom.value : chosen,
      message: text.value,
      ...(requestId.value !== '' && { request_id: requestId.value }),
      ...(sendAt.value !== '' && { send_at: sendAt.value }),
    };
    onExchange(
      await call('exchanges.perform', accountId.value, {
        method: 'POST',
        path: path.value,
        body: JSON.stringify(body),
      }),
    );
    void readState();
  });

  return (
    <form
      class="card form pairs"
      aria-label="Send a message"
      onSubmit={sending.onSubmit}
      noValidate
    >
      <Select
        label="Account"
        of={accountId}
        choices={accountChoices(world)}
        hint="Uses the account's first key that is not revoked."
      />
      <Select label="Endpoint" of={path} choices={endpointChoices} hint={`POST ${path.value}`} />
      <Select
        label="From"
        of={from}
        value={isOther ? 'other' : chosen}
        choices={[...senders, { value: 'other', label: 'another number…' }]}
        hint={senderHint(world, accountId.value)}
      />
      {isOther && (
        <TextField label="Sender number" type="tel" of={otherFrom} hint="Sent unchanged." />
      )}
      <TextField
        label="To"
        type="tel"
        list="recipients"
        of={to}
        hint={
          scripted.find(([number]) => number === to.value)?.[1] ?? 'E.164, such as +12025550123'
        }
      />
      <datalist id="recipients">
        {scripted.map(([number, fate]) => (
          <option key={number} value={number} label={fate} />
        ))}
      </datalist>
      <TextBox of={text} />
      <TextField
        label="send_at (optional)"
        of={sendAt}
        placeholder="2026-01-01T00:00:00.000Z"
        hint={<LaterChoices onChoose={(value) => (sendAt.value = value)} />}
      />
      <TextField
        label="request_id (optional)"
        of={requestId}
        hint="Used again within 24 hours, it returns the first message."
      />
      <Failure error={sending.error} />
      <div class="actions">
        <Submit aria-busy={sending.isBusy}>Send message</Submit>
      </div>
    </form>
  );
}

function TextBox({ of }: { readonly of: Text }) {
  const length = [...of.value].length;
  const { segments, encoding } = segmentText(of.value);
  const isTooLong = length > mostCharacters;
  return (
    <TextArea
      label="Message"
      of={of}
      rows={4}
      hint={
        <span class={isTooLong ? 'problem' : ''} data-testid="length">
          {length.toLocaleString('en')} of {mostCharacters.toLocaleString('en')} characters ·{' '}
          {segments} {segments === 1 ? 'segment' : 'segments'} · {encoding}
          {isTooLong ? ' · too long' : ''}
        </span>
      }
    />
  );
}

function LaterChoices({ onChoose }: { readonly onChoose: (iso: string) => void }) {
  const later = (ms: number) => () => onChoose(isoTime((nowMs.value ?? 0) + ms));
  return (
    <span class="inline">
      Simulated time, UTC.
      <button type="button" class="link" onClick={later(60_000)}>
        in a minute
      </button>
      <button type="button" class="link" onClick={later(3_600_000)}>
        in an hour
      </button>
      <button type="button" class="link" onClick={() => onChoose('')}>
        now
      </button>
    </span>
  );
}

function sendersOf(world: World, accountId: string) {
  const own = world.sims.filter(({ account_id: id }) => id === accountId);
  return [
    ...own.map(({ number, connected, active }) => ({
      value: number,
      label: `${number} · own SIM${connected ? '' : ', not connected'}${active ? '' : ', deactivated'}`,
    })),
    ...world.pool.map(({ number }) => ({ value: number, label: `${number} · shared pool` })),
  ];
}

function senderHint(world: World, accountId: string): string {
  const hasSim = world.sims.some(
    (sim) => sim.account_id === accountId && sim.connected && sim.active,
  );
  return hasSim
    ? 'The shared pool is for accounts without a connected SIM.'
    : 'This account has no connected SIM: it sends from the shared pool.';
}
