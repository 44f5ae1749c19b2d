/**
 * The page Referee. The referee judges recorded requests by the rules of a good client. The page
 * shows the verdict on each rule, the requests that break it, and the timeline of one intent (one
 * message that the client means to send once).
 */
import { useSignal } from '@preact/signals';
import type { FindingView } from '#contract/finding-view.ts';
import { clientRules } from '#contract/rules.ts';
import { call } from '../control.ts';
import { Action } from '../parts/action.tsx';
import { Detail, Split } from '../parts/detail.tsx';
import { Check } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Timeline, Trace, type TraceEvent } from '../parts/timeline.tsx';
import { CodeText, VerdictBadge } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import { addressOf } from '../route.ts';
import type { RefereeReport } from '../wire.ts';
import { counted } from '../words.ts';
import { accountName, useWorld } from '../world.ts';

type RuleVerdict = RefereeReport['rules'][number];

const verdicts = ['failed', 'advice', 'passed', 'not_exercised'] as const;
const mostShownFindings = 50;

export function RefereePage() {
  const isFinished = useSignal(false);
  const report = useResource(() => call('referee.report', { partial: !isFinished.value }), {
    rereadAfter: ['traffic', 'clock'],
    key: String(isFinished.value),
  });
  // The findings show account names, which come from the world.
  useWorld();
  return (
    <Split
      kind="stack split-list referee"
      detail={(number) => (
        <Detail key={number} label="Intent" title={`Request ${number}`}>
          <p>
            <a href={`#/requests/${number}`}>The request and its reply</a>
          </p>
          <Trace intent={{ number }} hasFacts />
        </Detail>
      )}
    >
      <div class="card-head">
        <Check isOn={isFinished}>The client has finished: judge what it left undone, too</Check>
        <Action
          warning="The requests so far are no longer judged."
          act={async () => {
            await call('referee.restart');
            report.refresh();
          }}
        >
          Clear record
        </Action>
      </div>
      <Loaded resource={report} what="verdicts">
        {(value) => <Report report={value} />}
      </Loaded>
      <FindingFile />
    </Split>
  );
}

function Report({ report }: { readonly report: RefereeReport }) {
  const { rules, exchanges, unattributable, notices } = report;
  if (exchanges === 0) {
    return (
      <Empty title="No request yet.">
        The requests of clients are judged here as soon as they arrive.
      </Empty>
    );
  }
  const counts = verdicts.map((verdict) => {
    const count = rules.filter((rule) => rule.verdict === verdict).length;
    return `${count} ${verdict.replace('_', ' ')}`;
  });
  const rulesWithFindings = rules.filter(({ findings }) => findings.length > 0);
  return (
    <>
      <p role="status">
        {counted(exchanges, 'request')} judged. Rules: {counts.join(', ')}.
        {unattributable > 0 &&
          ` ${unattributable} sends cannot be attributed to one message and fail no rule.`}
      </p>
      {notices.map(({ what }) => (
        <p key={what}>{what}</p>
      ))}
      {rulesWithFindings.map((rule) => (
        <Findings key={rule.id} rule={rule} />
      ))}
      <Card title="Client rules">
        <Table label="client rules" columns={columns} rows={rules} keyOf={({ id }) => id} />
      </Card>
    </>
  );
}

function Findings({ rule }: { readonly rule: RuleVerdict }) {
  const { id, verdict, findings } = rule;
  return (
    <Card title={id} head={<VerdictBadge verdict={verdict} />} lead={sentenceOf(rule)}>
      <ul class="ledger">
        {findings
          .slice(0, mostShownFindings)
          .map(({ account_id: accountId, endpoint, what, exchanges }) => (
            <li key={exchanges.join()}>
              <p class="breaks">
                <CodeText text={what} />
              </p>
              <p class="dim">
                {accountId === null ? 'not authenticated' : accountName(accountId)},{' '}
                {endpoint ?? 'unknown path'}, requests{' '}
                {exchanges.map((number, index) => (
                  <span key={number}>
                    {index > 0 && ', '}
                    <a href={`#/referee/${number}`} aria-label={`Timeline of request ${number}`}>
                      {number}
                    </a>
                  </span>
                ))}
              </p>
            </li>
          ))}
      </ul>
      {findings.length > mostShownFindings && (
        <p class="foot dim">{findings.length - mostShownFindings} more are not shown.</p>
      )}
    </Card>
  );
}

const columns: readonly Column<RuleVerdict>[] = [
  {
    head: 'Rule',
    cell: ({ id }) => <a href={addressOf('rules', id)}>{id}</a>,
    kind: 'mono',
    namesRow: true,
  },
  { head: 'Level', cell: ({ level }) => level },
  { head: 'The client', cell: sentenceOf, kind: 'wide' },
  { head: 'Verdict', cell: ({ verdict }) => <VerdictBadge verdict={verdict} /> },
  { head: 'Exercised', cell: ({ exercised }) => exercised.toLocaleString('en'), kind: 'number' },
];

function sentenceOf({ id }: RuleVerdict) {
  return <CodeText text={clientRules.find((rule) => rule.id === id)?.sentence ?? ''} />;
}

interface OpenedFinding extends Pick<FindingView, 'cause' | 'what'> {
  readonly events: readonly TraceEvent[];
}

function FindingFile() {
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
