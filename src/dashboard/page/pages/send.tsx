/**
 * The page Send: a form with the document's fields, and the request and reply that it made, errors
 * included.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { segmentText } from '../../../sim/segments.ts';
import { nowMs, readState, state } from '../clock.ts';
import { call } from '../control.ts';
import type { Field, Typed } from '../field.ts';
import { useSending } from '../form.ts';
import { CopyButton } from '../parts/action.tsx';
import { ExchangeView } from '../parts/exchange.tsx';
import { type Choice, FieldInput, Submit } from '../parts/fields.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { isoTime } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import type { Exchange, Sim } from '../wire.ts';
import { accountChoices, useWorld, type World } from '../world.ts';
import { asCurl, sendPaths } from './copies.ts';
import { fateText } from './fates.ts';

const mostCharacters = 1_600;

const endpointChoices = Object.entries(sendPaths).map(([label, value]) => ({ value, label }));

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

/** The account and the endpoint, then what is sent. */
const fields: readonly Field[] = [
  { name: 'account', kind: 'id', hint: "Uses the account's first key that is not revoked." },
  { name: 'endpoint', kind: 'choice' },
  { name: 'from', kind: 'phone' },
  { name: 'sender_number', kind: 'phone', hint: 'Sent unchanged.' },
  { name: 'to', kind: 'phone' },
  { name: 'message', kind: 'text' },
  { name: 'send_at', title: 'send_at (optional)', kind: 'time' },
  {
    name: 'request_id',
    title: 'request_id (optional)',
    kind: 'text',
    hint: 'Used again within 24 hours, it returns the first message.',
  },
];

/** The choice of `from` that allows any sender. */
const anotherNumber = { value: 'other', label: 'another number…' };

function SendForm({ world, onExchange }: SendFormProps) {
  const typed = useSignal<Typed>({ to: '+12025550123', message: 'Hello from the dashboard' });
  const { to = '', message = '', request_id: requestId, send_at: sendAt } = typed.value;
  const path = typed.value['endpoint'] ?? endpointChoices[0]?.value ?? '';
  const account = typed.value['account'] ?? world.accounts[0]?.account_id ?? '';
  const senders = useMemo(() => sendersOf(world, account), [world, account]);
  const chosen = senders.find(({ value }) => value === typed.value['from']) ?? senders[0];
  const isOther = chosen === anotherNumber;

  const scripted = useResource(() => call('outcomes.get')).value?.outcomes ?? [];
  const fate = scripted.find((each) => each.to === to);

  const sending = useSending(async () => {
    const body = {
      to,
      from: isOther ? (typed.value['sender_number'] ?? '') : chosen?.value,
      message,
      ...(requestId && { request_id: requestId }),
      ...(sendAt && { send_at: sendAt }),
    };
    const request = { method: 'POST', path, body: JSON.stringify(body) };
    onExchange(await call('exchanges.perform', account, request));
    void readState();
  });

  const hints: Readonly<Record<string, ComponentChildren>> = {
    endpoint: `POST ${path}`,
    from: senderHint(world, account),
    to: fate === undefined ? 'E.164, such as +12025550123' : fateText(fate),
    message: <Length text={message} />,
    send_at: (
      <LaterChoices onChoose={(value) => (typed.value = { ...typed.value, send_at: value })} />
    ),
  };
  return (
    <form
      class="card form pairs"
      aria-label="Send a message"
      onSubmit={sending.onSubmit}
      noValidate
    >
      {fields
        .filter(({ name }) => name !== 'sender_number' || isOther)
        .map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            hint={hints[field.name] ?? field.hint}
            typed={typed}
            choices={{ account: accountChoices(world), endpoint: endpointChoices, from: senders }}
            placeholders={{ send_at: '2026-01-01T00:00:00.000Z' }}
            {...(field.name === 'message' && { rows: 4 })}
            {...(field.name === 'to' && { list: 'recipients' })}
          />
        ))}
      <datalist id="recipients">
        {scripted.map((each) => (
          <option key={each.to} value={each.to} label={fateText(each)} />
        ))}
      </datalist>
      <Failure error={sending.error} />
      <div class="actions">
        <Submit aria-busy={sending.isBusy}>Send message</Submit>
      </div>
    </form>
  );
}

function Length({ text }: { readonly text: string }) {
  const length = [...text].length;
  const { segments, encoding } = segmentText(text);
  const isTooLong = length > mostCharacters;
  return (
    <span class={isTooLong ? 'problem' : ''} data-testid="length">
      {length.toLocaleString('en')} of {mostCharacters.toLocaleString('en')} characters · {segments}{' '}
      {segments === 1 ? 'segment' : 'segments'} · {encoding}
      {isTooLong ? ' · too long' : ''}
    </span>
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

function sendersOf({ sims }: World, account: string): readonly Choice[] {
  const isOf = (owner: string | null) => (sim: Sim) => sim.account_id === owner;
  return [
    ...sims.filter(isOf(account)).map(({ number, connected, active }) => ({
      value: number,
      label: `${number} · own SIM${connected ? '' : ', not connected'}${active ? '' : ', deactivated'}`,
    })),
    ...sims.filter(isOf(null)).map(({ number }) => ({
      value: number,
      label: `${number} · shared pool`,
    })),
    anotherNumber,
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
