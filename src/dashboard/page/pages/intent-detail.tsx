/**
 * One intent, as the referee sees it: every attempt with its reply, and how much of the
 * `Retry-After` of a 429 the client waited. All times are the service's.
 */
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../control.ts';
import { Facts } from '../parts/facts.tsx';
import { Failure, Loading } from '../parts/notices.tsx';
import { ReplyStatus } from '../parts/status.tsx';
import { durationText, Time } from '../parts/time.tsx';
import { useResource } from '../resource.ts';
import { type Attempt, type Timeline, timelineOf } from './timeline-of.ts';

/** `name`: the number of a request, from the address. */
export function IntentDetail({ name }: { readonly name: string }) {
  const report = useResource(() => call('referee.report', { details: true }), {
    on: ['traffic', 'clock'],
  });
  const details = report.value?.details;
  const number = Number(name);
  const timeline = details && timelineOf(details, number);
  return (
    <aside class="detail" aria-label="Intent">
      <div class="detail-head">
        <h2>Request {name}</h2>
        <a class="button plain close" href="#/referee">
          Close
        </a>
      </div>
      <Failure error={report.error} />
      {details === undefined ? (
        report.error === undefined && <Loading what="the intent" />
      ) : timeline === undefined ? (
        <p role="alert">The record has no request {name}.</p>
      ) : (
        <TimelineView timeline={timeline} number={number} />
      )}
    </aside>
  );
}

interface ViewProps {
  readonly timeline: Timeline;
  readonly number: number;
}

function TimelineView({ timeline, number }: ViewProps) {
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
}

function AttemptItem({ attempt, before, isShown }: AttemptProps) {
  const { number, at, status, seen, retry_after_ms: toldMs } = attempt;
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isShown) place.current?.scrollIntoView({ block: 'nearest' });
  }, [isShown]);
  return (
    <li ref={place} aria-current={isShown ? 'true' : undefined}>
      {before?.retry_after_ms != null && <Wait told={before} until={at} />}
      <a href={`#/referee/${number}`} aria-label={`Timeline of request ${number}`}>
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
