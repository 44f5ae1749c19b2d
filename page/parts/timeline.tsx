/**
 * A timeline in simulated time: the requests with replies, waits and faults, the statuses of a
 * message, and findings.
 */
import { faultText } from '#contract/fault-kinds.ts';
import { clientRules } from '#contract/rules.ts';
import { dayMs, durationText, isoTime } from '#contract/time.ts';
import type { Reply, Status } from '../control.ts';
import { useReply } from '../resource.ts';
import { addressOf, pageArgument, pageName } from '../route.ts';
import { Loaded } from './frame.tsx';
import { Bar, CodeText, Facts, ReplyStatus, StatusShape, Time } from './values.tsx';

type WireEvent = Reply<'requests.trace'>['events'][number];
/** An event of a timeline. It is a request if it has a reply. */
export interface TraceEvent
  extends Pick<WireEvent, 'at' | 'text'>,
    Partial<Pick<WireEvent, 'number' | 'reply' | 'seen' | 'retry_after_ms'>> {
  /** `expected`: a status that is still to come; its `at` is empty. */
  readonly kind: WireEvent['kind'] | 'expected';
  readonly fault?: string | null;
  /** The address of a request's own page. */
  readonly href?: string;
}

/** Marks the request that the address names. */
export function Timeline({ events }: { readonly events: readonly TraceEvent[] }) {
  const shown = addressOf(pageName.value, pageArgument.value);
  return (
    <ol class="timeline" aria-label="Timeline">
      {events.map((event, index) => (
        <li
          key={`${event.at} ${event.number} ${event.text} ${index}`}
          class={`event ${classesOf(event)}`}
          aria-current={isRequest(event) && event.href === shown ? 'true' : undefined}
        >
          {contentOf(event, events.slice(0, index))}
        </li>
      ))}
    </ol>
  );
}

/** `earlier`: the events before it, in order. */
function contentOf(event: TraceEvent, earlier: readonly TraceEvent[]) {
  const previous = earlier.at(-1);
  const lastRequest = isRequest(event) ? earlier.findLast(isRequest) : undefined;
  const lastAttempt = isAttempt(event) ? earlier.findLast(isAttempt) : undefined;
  const hasRecovered = lastAttempt !== undefined && !isAnswered(lastAttempt) && isAnswered(event);
  return (
    <>
      {lastRequest?.retry_after_ms != null && waitOf(lastRequest, event.at)}
      {titleOf(event)}
      {event.at !== '' && <Time at={event.at} above={previous?.at} />}
      <span class="took dim">{previous === undefined ? '' : timeSince(previous, event)}</span>
      {event.fault && <span class="reason">{event.fault}</span>}
      {hasRecovered && <span class="told">This reply reached the client.</span>}
      {event.seen === false && <span class="reason">The client did not see this reply.</span>}
      {event.retry_after_ms != null && retryAfter(event.at, event.retry_after_ms)}
    </>
  );
}

const isRequest = ({ reply }: TraceEvent) => typeof reply === 'number';

/** True for sends. */
const isAttempt = (event: TraceEvent) => isRequest(event) && event.kind !== 'read';

/** False if the reply was lost, a 429 or a 5xx. */
function isAnswered({ reply, seen }: TraceEvent): boolean {
  return seen === true && typeof reply === 'number' && reply !== 429 && reply < 500;
}

function titleOf({ kind, number, reply, seen, text, href }: TraceEvent) {
  const sentence = <CodeText text={findingText(text ?? '')} />;
  if (kind === 'finding') return <span class="reason">{sentence}</span>;
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
      <ReplyStatus status={reply} isLost={seen === false} />
      {text}
    </span>
  );
}

/** The text of a finding without the time of its last request, which is shown separately. */
export function findingText(what: string): string {
  return what.replace(/ \(request at [^)]*\)$/, '');
}

function timeSince(previous: TraceEvent, event: TraceEvent): string {
  const ms = Date.parse(event.at) - Date.parse(previous.at);
  return ms > 0 ? `+${durationText(ms)}` : '';
}

/** Only the text of a status is a class: other texts are sentences, also of clients. */
function classesOf({ kind, text }: TraceEvent): string {
  const rule = clientRules.find(({ id }) => text?.startsWith(`${id}:`));
  if (kind === 'finding' && rule?.level === 'should') return 'finding advice';
  return kind === 'status' ? `status status-${text}` : kind;
}

/** The largest `Retry-After` whose end is computed: a fault may set any number. */
const longestWaitMs = 366 * dayMs;

/** The `Retry-After` of a reply, and when it ends in simulated time. */
function retryAfter(at: string, waitMs: number) {
  const end = isoTime(Date.parse(at) + Math.min(waitMs, longestWaitMs));
  return (
    <span class="told">
      Retry-After: {durationText(waitMs)}
      {waitMs <= longestWaitMs && [', until ', <Time at={end} above={at} />]}
    </span>
  );
}

/** How much of the `Retry-After` of the previous request the client waited. */
function waitOf(request: TraceEvent, until: string) {
  const retryAfterMs = request.retry_after_ms ?? 0;
  const waitedMs = Date.parse(until) - Date.parse(request.at);
  const isEarly = waitedMs < retryAfterMs;
  const text = `waited ${durationText(waitedMs)} of ${durationText(retryAfterMs)}`;
  return (
    <span class={isEarly ? 'wait early' : 'wait'}>
      <Bar share={waitedMs / retryAfterMs} />
      {isEarly ? `${text}: ${durationText(retryAfterMs - waitedMs)} too early` : text}
    </span>
  );
}

/** An intent is found by the number of one of its requests, or by its message. */
type Intent = Readonly<{ number: string } | { message_id: string }>;
type TraceProps = Readonly<{
  intent: Intent;
  hasFacts?: boolean;
  expectedStatuses?: readonly Status[];
}>;

/** The events of an intent, if wanted a description of it, and the statuses that are to come. */
export function Trace({ intent, hasFacts = false, expectedStatuses = [] }: TraceProps) {
  const expected = expectedStatuses.map((text) => ({ kind: 'expected', at: '', text }) as const);
  const trace = useReply('requests.trace', [intent], ['traffic', 'messages', 'clock']);
  return (
    <Loaded resource={trace} what="the trace" isQuiet>
      {({ events, omitted, account, what, request_id: requestId, to, before }) => (
        <>
          {hasFacts && (
            <Facts
              facts={[
                ['Account', account ?? 'not authenticated'],
                ['Request', what],
                ['request_id', requestId],
                ['To', to],
              ]}
            />
          )}
          {before !== null && (
            <p>
              Before:{' '}
              <a href={addressOf('requests', `${before.number}`)}>request {before.number}</a>,{' '}
              {before.sentence}
            </p>
          )}
          <Timeline events={[...events.map(traceEvent), ...expected]} />
          {omitted > 0 && <p class="foot dim">{omitted} more are not shown.</p>}
        </>
      )}
    </Loaded>
  );
}

function traceEvent(event: WireEvent): TraceEvent {
  // The referee's record reaches further back than the list of requests.
  const page = pageName.value === 'referee' ? 'referee' : 'requests';
  const href = addressOf(page, String(event.number));
  return { ...event, fault: event.fault && faultText(event.fault), href };
}
