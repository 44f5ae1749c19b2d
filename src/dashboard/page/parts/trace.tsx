/**
 * What happened to one intent on the axis of simulated time: requests with their replies and faults,
 * the statuses of its message, and what the referee finds.
 */
import { call } from '../control.ts';
import { useResource } from '../reading.ts';
import { addressOf, pageName } from '../route.ts';
import type { Reply, Status } from '../wire.ts';
import { durationText, isoTime } from '../words.ts';
import { faultText } from './exchange.tsx';
import { Loaded } from './frame.tsx';
import { Facts, ReplyStatus, StatusShape, Time } from './values.tsx';

type Traced = Reply<'requests.trace'>['events'][number];
/** Only a request has a reply. */
export interface TraceEvent
  extends Pick<Traced, 'at' | 'text'>,
    Partial<Pick<Traced, 'number' | 'reply' | 'seen' | 'retry_after_ms'>> {
  readonly kind: Traced['kind'] | 'expected';
  readonly fault?: string | null;
  /** Where a request leads. */
  readonly href?: string;
}

interface TraceProps {
  /** One of its requests, or its message. */
  readonly of: { readonly number: string } | { readonly message_id: string };
  /** True if the page does not say what the intent is. */
  readonly hasFacts?: boolean;
  /** Statuses that may follow. */
  readonly ahead?: readonly Status[];
}

export function Trace({ of, hasFacts = false, ahead = [] }: TraceProps) {
  const trace = useResource(() => call('requests.trace', of), {
    on: ['traffic', 'message', 'clock'],
    key: JSON.stringify(of),
  });
  return (
    <Loaded of={trace} what="the trace" isQuiet>
      {({ events, omitted, account, what, request_id: requestId, to }) => (
        <>
          {hasFacts && (
            <Facts
              of={[
                ['Account', account ?? 'not authenticated'],
                ['Request', what],
                ['request_id', requestId],
                ['To', to],
              ]}
            />
          )}
          <Events
            of={[...events.map(shownEvent), ...ahead.map(expected)]}
            shown={'number' in of ? Number(of.number) : undefined}
          />
          {omitted > 0 && <p class="foot dim">{omitted} more are not shown.</p>}
        </>
      )}
    </Loaded>
  );
}

function shownEvent(event: Traced): TraceEvent {
  // The referee's record reaches further back than the list of requests.
  const page = pageName.value === 'referee' ? 'referee' : 'requests';
  const href = addressOf(page, String(event.number));
  return { ...event, fault: event.fault && faultText(event.fault), href };
}

function expected(status: Status): TraceEvent {
  return { kind: 'expected', at: '', text: status };
}

interface EventsProps {
  readonly of: readonly TraceEvent[];
  /** The number of the request that the page is about. */
  readonly shown?: number | undefined;
}

export function Events({ of, shown }: EventsProps) {
  return (
    <>
      <Axis of={of} />
      <ol class="timeline" aria-label="Timeline">
        {of.map((event, at) => {
          const earlier = of[at - 1];
          const last = (is: typeof isRequest) =>
            is(event) ? of.slice(0, at).findLast(is) : undefined;
          const [told, tried] = [last(isRequest), last(isAttempt)];
          return (
            <li
              key={`${event.at} ${event.number} ${event.text} ${at}`}
              class={`event ${event.kind} status-${event.text}`}
              aria-current={isRequest(event) && event.number === shown ? 'true' : undefined}
            >
              {told?.retry_after_ms != null && <Wait told={told} until={event.at} />}
              <What {...event} />
              {event.at !== '' && <Time at={event.at} above={earlier?.at} />}
              <span class="took dim">{earlier === undefined ? '' : since(earlier, event)}</span>
              {event.fault && <span class="reason">{event.fault}</span>}
              {tried && !isAnswered(tried) && isAnswered(event) && (
                <span class="told">The client recovered: this reply reached it.</span>
              )}
              {event.seen === false && (
                <span class="reason">The client did not see this reply.</span>
              )}
              {event.retry_after_ms != null && <Told at={event.at} waitMs={event.retry_after_ms} />}
            </li>
          );
        })}
      </ol>
    </>
  );
}

function isRequest({ reply }: TraceEvent): boolean {
  return typeof reply === 'number';
}

function isAttempt(event: TraceEvent): boolean {
  return isRequest(event) && event.kind !== 'read';
}

/** False if the reply was lost, a 429 or a 5xx. */
function isAnswered({ reply, seen }: TraceEvent): boolean {
  return seen === true && typeof reply === 'number' && reply !== 429 && reply < 500;
}

function What({ kind, number, reply, text, href }: TraceEvent) {
  if (kind === 'finding') return <span class="reason">{text}</span>;
  if (typeof reply !== 'number') {
    return (
      <span class="step">
        <StatusShape status={text ?? ''} /> {text}
        {kind === 'expected' && <span class="hidden"> is still to come</span>}
      </span>
    );
  }
  const name = `${kind} ${number}`;
  return (
    <span class="actions">
      {href === undefined ? <b>{name}</b> : <a href={href}>{name}</a>}
      <ReplyStatus status={reply} />
      {text}
    </span>
  );
}

function since({ at: from }: TraceEvent, { at }: TraceEvent): string {
  const ms = Date.parse(at) - Date.parse(from);
  return ms > 0 ? `+${durationText(ms)}` : '';
}

/** A mark for each event, where it is in time. */
function Axis({ of }: { readonly of: readonly TraceEvent[] }) {
  const times = of.flatMap(({ at }) => (at === '' ? [] : [Date.parse(at)]));
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  if (first === last) return null;
  return (
    <div class="axis" aria-hidden="true">
      {times.map((ms, at) => (
        <span
          key={of[at]?.at}
          class={`${of[at]?.kind} status-${of[at]?.text}`}
          style={{ left: `${(100 * (ms - first)) / (last - first)}%` }}
        />
      ))}
    </div>
  );
}

const longestToldMs = 366 * 86_400_000;

/** `Retry-After` in simulated time. A fault may say anything. */
function Told({ at, waitMs }: { readonly at: string; readonly waitMs: number }) {
  return (
    <span class="told">
      Retry-After: {durationText(waitMs)}
      {waitMs <= longestToldMs && (
        <>
          , until <Time at={isoTime(Date.parse(at) + waitMs)} above={at} />
        </>
      )}
    </span>
  );
}

/** How much of the `Retry-After` of the previous 429 the client waited. */
function Wait({ told, until }: { readonly told: TraceEvent; readonly until: string }) {
  const toldMs = told.retry_after_ms ?? 0;
  const waitedMs = Date.parse(until) - Date.parse(told.at);
  const isEarly = waitedMs < toldMs;
  const text = `waited ${durationText(waitedMs)} of ${durationText(toldMs)}`;
  return (
    <span class={isEarly ? 'wait early' : 'wait'}>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.min(100, (waitedMs / toldMs) * 100)}%` }} />
      </span>
      {isEarly ? `${text}: ${durationText(toldMs - waitedMs)} too early` : text}
    </span>
  );
}
