/**
 * One intent, as the referee sees it: every attempt with its reply, and how much of the
 * `Retry-After` of a 429 the client waited. All times are the service's.
 */
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../control.ts';
import { Detail } from '../parts/detail.tsx';
import { Facts } from '../parts/facts.tsx';
import { Failure, Loading } from '../parts/notices.tsx';
import { ReplyStatus } from '../parts/status.tsx';
import { durationText, Time } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import { addressOf } from '../route.ts';
import { type Attempt, type Timeline, timelineOf } from './timeline-of.ts';

/** `name`: the number of a request, from the address. */
export function IntentDetail({ name }: { readonly name: string }) {
  const number = Number(name);
  const head = <h2>{Number.isNaN(number) ? 'No such request' : `Request ${number}`}</h2>;
  return (
    <Detail label="Intent" name={name} head={head}>
      <p>
        <a href={`#/requests/${name}`}>The request and its reply</a>
      </p>
      <IntentTimeline name={name} page="referee" />
    </Detail>
  );
}

/** The attempts at the message of a request; `page`: where their links lead. */
export function IntentTimeline({ name, page }: { readonly name: string; readonly page: string }) {
  const report = useResource(() => call('referee.report', { details: true }), {
    on: ['traffic', 'clock'],
  });
  const details = report.value?.details;
  const number = Number(name);
  const timeline = details && timelineOf(details, number);
  if (report.error !== undefined) return <Failure error={report.error} />;
  if (details === undefined) return <Loading what="the intent" />;
  if (timeline === undefined) return <p role="alert">The record has no request {name}.</p>;
  return <TimelineView timeline={timeline} number={number} page={page} />;
}

interface ViewProps {
  readonly timeline: Timeline;
  readonly number: number;
  readonly page: string;
}

function TimelineView({ timeline, number, page }: ViewProps) {
  const { account, what, requestId, to, attempts, omitted } = timeline;
  return (
    <>
      <Facts
        of={[
          ['Account', account ?? 'not authenticated'],
          ['Request', what],
          ['request_id', requestId],
          ['To', to],
        ]}
      />
      <ol class="timeline attempts" aria-label="Timeline">
        {attempts.map((attempt, at) => (
          <AttemptItem
            key={attempt.number}
            attempt={attempt}
            before={attempts[at - 1]}
            isShown={attempt.number === number}
            page={page}
          />
        ))}
      </ol>
      {omitted > 0 && <p class="foot dim">{omitted} more are not shown.</p>}
    </>
  );
}

interface AttemptProps {
  readonly attempt: Attempt;
  readonly before: Attempt | undefined;
  readonly isShown: boolean;
  readonly page: string;
}

function AttemptItem({ attempt, before, isShown, page }: AttemptProps) {
  const { number, at, status, seen, retry_after_ms: toldMs } = attempt;
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    // A request's own page begins with the request.
    if (isShown && page === 'referee') place.current?.scrollIntoView({ block: 'nearest' });
  }, [isShown, page]);
  return (
    <li ref={place} aria-current={isShown ? 'true' : undefined}>
      {before?.retry_after_ms != null && <Wait told={before} until={at} />}
      <a href={addressOf(page, String(number))} aria-label={`Timeline of request ${number}`}>
        {number}
      </a>
      <ReplyStatus status={status} />
      <Time at={at} />
      <span class="took dim">
        {before === undefined ? '' : `+${durationText(Date.parse(at) - Date.parse(before.at))}`}
      </span>
      {!seen && <span class="reason">The client did not see this reply.</span>}
      {toldMs !== null && <span class="told">Retry-After: {durationText(toldMs)}</span>}
    </li>
  );
}

/** How much of the `Retry-After` of the previous 429 the client waited. */
function Wait({ told, until }: { readonly told: Attempt; readonly until: string }) {
  const toldMs = told.retry_after_ms ?? 0;
  const waitedMs = Date.parse(until) - Date.parse(told.at);
  const isEarly = waitedMs < toldMs;
  const text = `waited ${durationText(waitedMs)} of ${durationText(toldMs)}`;
  return (
    <span class={isEarly ? 'wait early' : 'wait'}>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.min(100, (waitedMs / toldMs) * 100)}%` }} />
      </span>
      {isEarly ? `${text}: too early` : text}
    </span>
  );
}
