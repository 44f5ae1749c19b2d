/**
 * The page Send: a form with the fields of the document's send body, and the exchange (request and
 * reply) that it made, errors included.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { messageMaxCharacters, sendEndpoints } from '#contract/limits.ts';
import { servicePaths } from '#contract/routes.ts';
import { hourMs, isoTime, minuteMs } from '#contract/time.ts';
import { segmentText } from '#src/sim/sends/segments.ts';
import { nowMs } from '../clock.ts';
import type { ShownExchange } from '../control.ts';
import type { Field } from '../field.ts';
import type { Row } from '../list-declaration.ts';
import { asCurl, CopyButton, sendPath } from '../parts/copy-and-save.tsx';
import { ExchangeView, FaultLink } from '../parts/exchange.tsx';
import { Card, Empty, Loading } from '../parts/frame.tsx';
import { OperationForm } from '../parts/operation-form.tsx';
import { useReply } from '../resource.ts';
import { useDraft } from '../route.ts';
import { counted, fateText, readJson } from '../value-texts.ts';
import { numbersOf, useWorld, type World } from '../world.ts';

const fields: readonly Field[] = [
  { name: 'endpoint', kind: 'choice', words: sendEndpoints, isRequired: true },
  { name: 'from', kind: 'phone' },
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

export function SendPage() {
  const world = useWorld();
  const exchange = useSignal<ShownExchange | undefined>(undefined);
  // A form does not know the type of its operation's reply.
  const onSent = (sent: Row) => (exchange.value = sent as unknown as ShownExchange);
  if (world === undefined) return <Loading what="accounts" />;
  if (world.accounts.length === 0) return <Empty title="There is no account to send from." />;
  return (
    <div class="columns">
      <div class="stack">
        <Card title="A message">
          <SendForm world={world} onSent={onSent} />
        </Card>
        <AnyRequest onSent={onSent} />
      </div>
      <Card title="Its exchange" aria-live="polite">
        {exchange.value === undefined ? (
          <Empty title="The exchange appears here.">
            Shows what was sent over the wire: headers, bodies and errors, without the key.
          </Empty>
        ) : (
          <SentExchange exchange={exchange.value} />
        )}
      </Card>
    </div>
  );
}

type SenderProps = Readonly<{ onSent: (reply: Row) => void }>;

function SendForm({ world, onSent }: SenderProps & { readonly world: World }) {
  const typed = useDraft({ to: '+12025550123', message: 'Hello from the dashboard' });
  const scripted = useReply('outcomes.get', [], ['operation']);
  const account = typed.value['account_id'] || (world.accounts[0]?.account_id ?? '');
  const numbers = numbersOf(account);
  const ownSims = world.sims.filter(({ account_id: id }) => id === account);
  const hasSim = ownSims.some(({ connected, active }) => connected && active);
  const outcomes = scripted.value?.outcomes ?? [];
  const chosenOutcome = outcomes.find(({ to }) => to === typed.value['to']);
  const hints: Readonly<Record<string, ComponentChildren>> = {
    endpoint: `POST ${sendPath(typed.value)}`,
    from: `${hasSim ? 'The shared pool is for accounts without a connected SIM.' : 'This account has no connected SIM: it sends from the shared pool.'} Default: ${numbers[0] ?? 'none'}.`,
    to: chosenOutcome ? fateText(chosenOutcome) : 'E.164, such as +12025550123',
    message: <Length text={typed.value['message'] ?? ''} />,
    send_at: sendAtChoices((value) => (typed.value = { ...typed.value, send_at: value })),
  };
  return (
    <OperationForm
      operation="exchanges.perform"
      fields={fields}
      typed={typed}
      label="Send a message"
      submit="Send message"
      placeholders={{ from: numbers[0] ?? '', send_at: '2026-01-01T00:00:00.000Z' }}
      hints={hints}
      suggestions={{
        from: numbers,
        to: outcomes.map((outcome) => [outcome.to, fateText(outcome)]),
      }}
      // The endpoint selects the path; it is not a field of the body.
      toInput={({ endpoint: _, from = numbers[0], to = '', message = '', ...optional }) => ({
        method: 'POST',
        path: sendPath(typed.value),
        body: JSON.stringify({ to, from, message, ...optional }),
      })}
      onDone={onSent}
    />
  );
}

/** A form for any request to the service, wrong ones included. */
function AnyRequest({ onSent }: SenderProps) {
  const keys = useReply('accounts.allKeys', [], ['operation']).value?.keys ?? [];
  const keyChoices = keys.map(
    ({ key_id: id, name, revoked_at: end }) =>
      [id, end === null ? name : `${name}, revoked`] as const,
  );
  return (
    <details class="card">
      <summary>Any other request: reads, received messages, a revoked key, broken JSON</summary>
      <OperationForm
        operation="exchanges.perform"
        initial={{ path: servicePaths.stats }}
        label="Send any request"
        submit="Send request"
        suggestions={{ path: Object.values(servicePaths), key_id: keyChoices }}
        onDone={onSent}
      />
    </details>
  );
}

function SentExchange({ exchange }: { readonly exchange: ShownExchange }) {
  const { method, path, body } = exchange.request;
  // The command posts a body, and gets without one.
  const isCurl = body ? method === 'POST' : method === 'GET';
  // A send that was accepted is answered with the id of its message.
  const reply = readJson(exchange.reply.body ?? '') as { readonly message_id?: string } | null;
  const shown = useRef<HTMLDivElement>(null);
  // On a small screen the exchange is below the form, where it would not be seen.
  useEffect(() => shown.current?.scrollIntoView({ block: 'nearest' }), [exchange]);
  return (
    <div ref={shown}>
      {exchange.fault && <FaultLink fault={exchange.fault} />}
      <ExchangeView exchange={exchange} />
      <div class="actions">
        {reply?.message_id !== undefined && (
          <a class="button main" href={`#/messages/${reply.message_id}`}>
            Watch this message
          </a>
        )}
        {isCurl && <CopyButton text={() => asCurl(path, body ?? '')}>Copy as curl</CopyButton>}
      </div>
    </div>
  );
}

function Length({ text }: { readonly text: string }) {
  const length = [...text].length;
  const { segments, encoding } = segmentText(text);
  const isTooLong = length > messageMaxCharacters;
  return (
    <span class={isTooLong ? 'problem' : ''} data-testid="length">
      {length.toLocaleString('en')} of {messageMaxCharacters.toLocaleString('en')} characters ·{' '}
      {counted(segments, 'segment')} · {encoding}
      {isTooLong ? ' · too long' : ''}
    </span>
  );
}

/** Buttons that fill in a time for `send_at`; `now` empties it. */
function sendAtChoices(onChoose: (iso: string) => void) {
  const choice = (text: string, sendAt: () => string) => (
    <button type="button" class="link" onClick={() => onChoose(sendAt())}>
      {text}
    </button>
  );
  return (
    <span class="inline">
      Simulated time, UTC.
      {choice('in a minute', () => isoTime((nowMs.value ?? 0) + minuteMs))}
      {choice('in an hour', () => isoTime((nowMs.value ?? 0) + hourMs))}
      {choice('now', () => '')}
    </span>
  );
}
