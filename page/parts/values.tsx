/**
 * Shows single values: times, statuses, sentences and named facts. A status has a shape and a word
 * besides its colour, for readers who cannot tell the colours apart.
 */
import type { ComponentChildren } from 'preact';
import { statuses } from '#contract/message-status.ts';
import { durationText } from '#contract/time.ts';
import { nowMs } from '../clock.ts';
import type { Account } from '../control.ts';
import type { TextFact } from '../list-declaration.ts';
import { addressOf } from '../route.ts';
import { CopyButton } from './copy-and-save.tsx';

/**
 * A simulated time as the service writes it: UTC, with milliseconds. `above`: the time in the row
 * above; a narrow list shows the day only where it changes.
 */
export function Time({ at, above }: { readonly at: string; readonly above?: string | undefined }) {
  const [day = '', timeOfDay = ''] = at.split('T');
  return (
    <time dateTime={at}>
      <span class={above?.startsWith(day) ? 'dim same-day' : 'dim day'}>{day}</span>{' '}
      {timeOfDay.replace('Z', '')}
    </time>
  );
}

const codeOrId = /(`[^`]*`|\*\w+\*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/;

/** A sentence with text between backticks as code, and links to what has the ids that it names. */
export function CodeText({ text }: { readonly text: string }) {
  const withoutLinks = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return withoutLinks.split(codeOrId).map((part, index, parts) => {
    if (index % 2 === 0) return part;
    if (part.startsWith('`')) return <code key={index}>{part.slice(1, -1)}</code>;
    if (part.startsWith('*')) return <em key={index}>{part.slice(1, -1)}</em>;
    const isRequestId = /(request_id|instead of) $/.test(parts[index - 1] ?? '');
    const page = isRequestId ? 'requests?search=request_id%3A' : 'messages/';
    return <a href={`#/${page}${part}`}>{part}</a>;
  });
}

export type Fact = readonly [name: string, value: ComponentChildren];

/** Names and values, such as the fields of one message; leaves out facts whose value is null. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  const known = facts.filter(([, value]) => value !== null);
  return (
    <dl class="facts">
      {known.map(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name}:`}>{value}</dd>,
      ])}
    </dl>
  );
}

/** Facts, each with a button that copies its value. */
export function CopyFacts({ facts }: { readonly facts: readonly TextFact[] }) {
  const copyFact = ([name, value]: TextFact): Fact => [
    name,
    <span key={name} class="actions">
      <span class="mono breaks">{value}</span>
      <CopyButton what={name} text={() => value}>
        Copy
      </CopyButton>
    </span>,
  ];
  return <Facts facts={facts.map(copyFact)} />;
}

/** The path of each message status in a 16 by 16 box; an unknown status looks like `queued`. */
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
      <path d={shapes[status] ?? shapes['queued']} />
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

/** Links to the messages in each status, with their counts; `filters` select some of them. */
export function statusLinks(
  messages: Account['messages'],
  filters: Readonly<Record<string, string>> = {},
) {
  return statuses
    .filter((status) => messages[status] > 0)
    .map((status) => (
      <a key={status} href={addressOf('messages', '', { ...filters, status })}>
        <StatusBadge status={status} /> {messages[status].toLocaleString('en')}
      </a>
    ));
}

/** Until when requests are answered 429, and how long that is from now. */
export function ThrottledUntil({ at }: { readonly at: string }) {
  const waitMs = Math.max(0, Date.parse(at) - (nowMs.value ?? 0));
  return (
    <>
      429 until <Time at={at} />, for {durationText(waitMs)}
    </>
  );
}

/** Words in the colours of a message status. */
export function badge(like: string, text: string | number) {
  return <span class={`badge status-${like}`}>{text}</span>;
}

type ReplyStatusProps = Readonly<{ status: number; isLost?: boolean | undefined }>;

/** The status of an HTTP reply. `isLost`: the client did not get it. */
export function ReplyStatus({ status, isLost = false }: ReplyStatusProps) {
  if (isLost) return badge('failed', `lost (${status})`);
  if (status === 429) return badge('sending', status);
  if (status < 300) return badge('delivered', status);
  return badge(status < 400 ? 'queued' : 'failed', status);
}

const verdictStatuses: Readonly<Record<string, string>> = {
  passed: 'delivered',
  failed: 'failed',
  advice: 'sending',
};

export function VerdictBadge({ verdict }: { readonly verdict: string }) {
  return badge(verdictStatuses[verdict] ?? 'queued', verdict.replace('_', ' '));
}

/** A bar and numbers: how much of a limit is left. `name`: the accessible name. */
export function Level(props: Readonly<{ name: string; remaining: number; limit: number }>) {
  const { name, remaining, limit } = props;
  const shown = Math.max(0, remaining);
  return (
    <div class={remaining < limit / 4 ? 'gauge gauge-low' : 'gauge'}>
      <meter class="hidden" aria-label={name} min={0} max={limit} value={shown} />
      <Bar share={shown / limit} />
      <span>
        <b>{shown.toLocaleString('en')}</b> <span class="dim">of {limit.toLocaleString('en')}</span>
      </span>
    </div>
  );
}

/** `share`: how much of the bar is full, from 0 to 1. */
export function Bar({ share }: { readonly share: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ width: `${Math.min(100, (share || 0) * 100)}%` }} />
    </span>
  );
}

/** How much of its monthly quota an account has left. */
export function Quota({ account }: { readonly account: Account }) {
  const { name, quota_used: used, effective_monthly_quota: quota } = account;
  if (quota === 'unlimited') return <span class="dim">unlimited</span>;
  return (
    <Level name={`messages of ${name} left this month`} remaining={quota - used} limit={quota} />
  );
}
