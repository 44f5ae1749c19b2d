/**
 * How values are shown: times, statuses, sentences, and facts. A status has a shape, a word and a
 * colour, so that colour is never the only sign.
 */
import { type ComponentChildren, Fragment } from 'preact';
import { CopyButton } from './action.tsx';

interface TimeProps {
  readonly at: string;
  /** The time above it in a list: where room is short, the same day is not shown again. */
  readonly above?: string | undefined;
}

/** A simulated time as the service writes it: UTC, with milliseconds. */
export function Time({ at, above }: TimeProps) {
  const [day = '', rest = ''] = at.split('T');
  return (
    <time dateTime={at}>
      <span class={above?.startsWith(day) ? 'dim same-day' : 'dim day'}>{day}</span>{' '}
      {rest.replace('Z', '')}
    </time>
  );
}

/** A sentence; text between backticks is shown as code. */
export function CodeText({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split('`')
        .map((part, place) =>
          place % 2 === 0 ? part : <code key={`${part} ${place}`}>{part}</code>,
        )}
    </>
  );
}

export type Fact = readonly [name: string, value: ComponentChildren];

/** Names and values, such as the fields of one message; those without a value are left out. */
export function Facts({ of }: { readonly of: readonly Fact[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}

/** Each with a button that copies it. */
export function CopyFacts({ of }: { readonly of: readonly (readonly [string, string])[] }) {
  return (
    <Facts
      of={of.map(([name, value]) => [
        name,
        <span key={name} class="actions">
          <span class="mono breaks">{value}</span>
          <CopyButton what={name} text={() => value}>
            Copy
          </CopyButton>
        </span>,
      ])}
    />
  );
}

const shapes: Readonly<Record<string, string>> = {
  queued: 'M8 3.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9z',
  scheduled: 'M8 3.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9zM8 5.5v2.7l1.8 1.2',
  sending: 'M3 8h8M8 4.5 11.5 8 8 11.5',
  sent: 'M3.5 4l4 4-4 4M8.5 4l4 4-4 4',
  delivered: 'M3.5 8.5l3 3 6-7',
  failed: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
};

export function StatusShape({ status }: { readonly status: string }) {
  return (
    <svg class="shape" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path
        d={shapes[status] ?? shapes['queued']}
        fill="none"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

export function StatusBadge({ status }: { readonly status: string }) {
  return (
    <span class={`badge status-${status}`}>
      <StatusShape status={status} />
      {status}
    </span>
  );
}

/** The status of an HTTP reply; the number gives the meaning without the colour. */
export function ReplyStatus({ status }: { readonly status: number }) {
  return <span class={`badge status-${lookOf(status)}`}>{status}</span>;
}

/** The message status whose colours a reply is shown in. */
function lookOf(status: number): string {
  if (status < 300) return 'delivered';
  if (status === 429) return 'sending';
  return status < 400 ? 'queued' : 'failed';
}

const verdictKinds: Readonly<Record<string, string>> = {
  passed: 'delivered',
  failed: 'failed',
  advice: 'sending',
};

export function VerdictBadge({ verdict }: { readonly verdict: string }) {
  const kind = verdictKinds[verdict] ?? 'queued';
  return <span class={`badge status-${kind}`}>{verdict.replace('_', ' ')}</span>;
}

export function TruthBadge({ is }: { readonly is: boolean }) {
  return <span class={`badge status-${is ? 'delivered' : 'queued'}`}>{is ? 'yes' : 'no'}</span>;
}
