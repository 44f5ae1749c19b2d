/**
 * Shows an exchange: a request to the service and its reply, as sent over the wire. The control
 * port has removed the key.
 */
import type { ComponentChildren } from 'preact';
import { faultText } from '#contract/fault-kinds.ts';
import type { ShownExchange } from '../control.ts';
import { jsonText, readJson } from '../value-texts.ts';
import { Facts, ReplyStatus } from './values.tsx';

/** The bundler inserts the reason phrase of each status. */
declare const statusTexts: Readonly<Record<number, string>>;

type ExchangeProps = Readonly<{ exchange: ShownExchange & { readonly is_lost?: boolean } }>;

export function ExchangeView({ exchange }: ExchangeProps) {
  const { request, reply, is_lost: isLost } = exchange;
  const sent = [
    <span class="mono">{request.method}</span>,
    <span class="mono path">{request.path}</span>,
  ];
  const reason = statusTexts[reply.status] ?? '';
  const answered = [<ReplyStatus status={reply.status} isLost={isLost} />, reason];
  return (
    <div class="exchange">
      {partOf('Request', sent, request)}
      {partOf('Reply', answered, reply)}
    </div>
  );
}

function partOf(
  name: string,
  head: ComponentChildren,
  { headers, body }: ShownExchange['request' | 'reply'],
) {
  const json = readJson(body ?? '');
  const missingText = body === null ? 'The body is too long to be kept.' : 'No body.';
  return (
    <section aria-label={name}>
      <h3>
        {name} {head}
      </h3>
      <Facts facts={Object.entries(headers)} />
      {body ? (
        <pre>{typeof json === 'object' ? jsonText(json) : body}</pre>
      ) : (
        <p class="dim">{missingText}</p>
      )}
    </section>
  );
}

type FaultProps = Readonly<{ fault: NonNullable<ShownExchange['fault']>; text?: string }>;

/** What a fault did, with a link to the fault. */
export function FaultLink({ fault, text = faultText(fault) }: FaultProps) {
  const { fault_id: id } = fault;
  return (
    <b class="problem">
      {text}
      {id !== null && [' (', <a href={`#/faults/${id}`}>{id}</a>, ')']}
    </b>
  );
}
