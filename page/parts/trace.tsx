/**
 * Reads the trace of one intent (one message that a client means to send once) and shows it as a
 * timeline: its requests, the statuses of the message, and the referee's findings.
 */
import { call } from '../control.ts';
import { useResource } from '../resource.ts';
import { addressOf, pageName } from '../route.ts';
import type { Status } from '../wire.ts';
import { faultText } from './exchange.tsx';
import { Loaded } from './frame.tsx';
import { Timeline, type TraceEvent, type WireEvent } from './timeline.tsx';
import { Facts } from './values.tsx';

interface TraceProps {
  /** The intent: by the number of one of its requests, or by its message. */
  readonly intent: { readonly number: string } | { readonly message_id: string };
  /** True if the trace also says what the intent is. */
  readonly hasFacts?: boolean;
  /** Statuses that are still to come. */
  readonly expectedStatuses?: readonly Status[];
}

export function Trace({ intent, hasFacts = false, expectedStatuses = [] }: TraceProps) {
  const trace = useResource(() => call('requests.trace', intent), {
    rereadAfter: ['traffic', 'message', 'clock'],
    key: JSON.stringify(intent),
  });
  return (
    <Loaded resource={trace} what="the trace" isQuiet>
      {({ events, omitted, account, what, request_id: requestId, to }) => (
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
          <Timeline
            events={[...events.map(traceEvent), ...expectedStatuses.map(expectedEvent)]}
            shownNumber={'number' in intent ? Number(intent.number) : undefined}
          />
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

function expectedEvent(status: Status): TraceEvent {
  return { kind: 'expected', at: '', text: status };
}
