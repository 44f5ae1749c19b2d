/**
 * Shows an exchange: a request to the service and its reply, as sent over the wire. The control
 * port has removed the key.
 */
import type { ComponentChildren } from 'preact';
import { cuts, faultKinds } from '#contract/fault-kinds.ts';
import { jsonText, readJson } from '../typed-values.ts';
import type { Exchange } from '../wire.ts';
import { ReplyStatus } from './values.tsx';

/** The bundler inserts the reason phrase of each status. */
declare const statusTexts: Readonly<Record<number, string>>;

export function ExchangeView({ exchange }: { readonly exchange: Exchange }) {
  const { request, reply, fault } = exchange;
  const sent = [
    <span class="mono">{request.method}</span>,
    <span class="mono path">{request.path}</span>,
  ];
  const answered = [<ReplyStatus status={reply.status} />, statusTexts[reply.status] ?? ''];
  return (
    <div class="exchange">
      {fault !== null && (
        <p>
          Fault: <FaultLink fault={fault} />
        </p>
      )}
      {partOf('Request', sent, request)}
      {partOf('Reply', answered, reply)}
    </div>
  );
}

function partOf(
  name: string,
  head: ComponentChildren,
  { headers, body }: Exchange['request' | 'reply'],
) {
  const json = readJson(body ?? '');
  const missingText = body === null ? 'The body is too long to be kept.' : 'No body.';
  return (
    <section aria-label={name}>
      <h3>
        {name} {head}
      </h3>
      <dl class="headers">
        {Object.entries(headers).map(([header, value]) => (
          <div key={header}>
            <dt>{header}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {body ? (
        <pre>{typeof json === 'object' ? jsonText(json) : body}</pre>
      ) : (
        <p class="dim">{missingText}</p>
      )}
    </section>
  );
}

/** What a fault did, with a link to the fault. */
export function FaultLink({ fault }: { readonly fault: NonNullable<Exchange['fault']> }) {
  const { fault_id: id } = fault;
  return (
    <b class="problem">
      {faultText(fault)}
      {id !== null && [' (', <a href={`#/faults/${id}`}>{id}</a>, ')']}
    </b>
  );
}

/** What a fault did to a request, in words. */
export function faultText(fault: NonNullable<Exchange['fault']>): string {
  const { kind, status, delay_ms: delayMs, cut } = fault;
  const parts = [
    ...(status === null ? [] : [`fault answered ${status}`]),
    ...(delayMs === null ? [] : [`reply ${delayMs} ms late`]),
    ...(cut === null ? [] : [cuts[cut]]),
  ];
  return parts.join(', ') || faultKinds[kind].about;
}
