/**
 * Opens the file of a finding of `smstwin explore`, which runs a client under schedules of faults:
 * shows the failed run as a timeline. Part of the page Referee.
 */
import { useSignal } from '@preact/signals';
import type { FindingView } from '#judging/report/finding-view.ts';
import { Card } from '../parts/frame.tsx';
import { Timeline, type TraceEvent } from '../parts/timeline.tsx';

interface OpenedFinding extends Pick<FindingView, 'cause' | 'what'> {
  readonly events: readonly TraceEvent[];
}

export function FindingFile() {
  const finding = useSignal<OpenedFinding | undefined>(undefined);
  const problem = useSignal('');
  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    problem.value = '';
    finding.value = undefined;
    try {
      finding.value = parseFinding(await file.text());
    } catch {
      problem.value = `${file.name} is not a finding: expected a finding-N.json of smstwin explore.`;
    }
  };
  return (
    <Card title="A finding of smstwin explore">
      <label class="field">
        <span>Open a finding-N.json</span>
        <input
          type="file"
          accept=".json"
          onChange={({ currentTarget }) => void open(currentTarget.files?.[0])}
        />
      </label>
      <p class="problem" role="alert">
        {problem.value}
      </p>
      {finding.value !== undefined && (
        <>
          <p>
            <b>{finding.value.cause}</b>: {finding.value.what}
          </p>
          <Timeline events={finding.value.events} />
        </>
      )}
    </Card>
  );
}

/** Throws if the text is not a finding. */
function parseFinding(text: string): OpenedFinding {
  const finding = JSON.parse(text) as FindingView;
  return { cause: String(finding.cause), what: String(finding.what), events: eventsOf(finding) };
}

/** Each exchange; a failure follows the last exchange that proves it. */
function eventsOf({ failures, timeline }: FindingView): TraceEvent[] {
  return timeline.flatMap((exchange): TraceEvent[] => {
    const { number, at, method, target, fault, status, seen, attempt } = exchange;
    const sendKind = (attempt ?? 1) > 1 ? 'retry' : 'request';
    const kind = method === 'GET' ? 'read' : sendKind;
    const provedFailures = failures.filter(({ exchanges }) => exchanges.at(-1) === number);
    return [
      {
        kind,
        at,
        number,
        reply: status,
        seen,
        fault: fault && `fault: ${fault}`,
        text: `${method} ${target}`,
      },
      ...provedFailures.map(
        ({ cause, what }): TraceEvent => ({ kind: 'finding', at, text: `${cause}: ${what}` }),
      ),
    ];
  });
}
