/**
 * The page Referee. The referee judges recorded requests by the rules of a good client. The page
 * shows the verdict on each rule, the requests that break it, and the timeline of one intent (one
 * message that the client means to send once).
 */
import { useSignal } from '@preact/signals';
import type { FindingView } from '#contract/finding-view.ts';
import { call } from '../control.ts';
import { Action } from '../parts/action.tsx';
import { Detail, Split } from '../parts/detail.tsx';
import { Check } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Timeline, Trace, type TraceEvent } from '../parts/timeline.tsx';
import { CodeText, VerdictBadge } from '../parts/values.tsx';
import { useReply } from '../resource.ts';
import { readJson } from '../typed-values.ts';
import type { RefereeReport } from '../wire.ts';
import { counted, findingText } from '../words.ts';
import { accountName, useWorld } from '../world.ts';
import { ruleColumn, ruleText } from './rules.tsx';

type RuleVerdict = RefereeReport['rules'][number];

const verdicts = ['failed', 'advice', 'passed', 'not_exercised'] as const;
const mostShownFindings = 50;

export function RefereePage() {
  const isFinished = useSignal(false);
  const input = { partial: !isFinished.value };
  const report = useReply('referee.report', [input], ['traffic', 'clock']);
  // The findings show account names, which come from the world.
  useWorld();
  return (
    <Split
      kind="stack split-list referee"
      detail={(number) => (
        <Detail key={number} title={`Intent of request ${number}`}>
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
          act={() => call('referee.restart')}
        >
          Clear record
        </Action>
      </div>
      <Loaded resource={report} what="verdicts">
        {reportOf}
      </Loaded>
      <FindingFile />
    </Split>
  );
}

function reportOf({ rules, exchanges, unattributable, notices }: RefereeReport) {
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
      {rules.filter(({ findings }) => findings.length > 0).map(findingsOf)}
      <Card title="Client rules">
        <Table label="client rules" columns={columns} rows={rules} keyOf={({ id }) => id} />
      </Card>
    </>
  );
}

function findingsOf({ id, verdict, findings }: RuleVerdict) {
  const groups = [
    ...Map.groupBy(findings, (each) => sourceOf(each) + findingText(each.what)).values(),
  ];
  return (
    <Card
      key={id}
      title={id}
      head={
        <span class="actions">
          {counted(findings.length, 'finding')} <VerdictBadge verdict={verdict} />
        </span>
      }
      lead={ruleText(id)}
    >
      <ul class="ledger">
        {groups.slice(0, mostShownFindings).map(([first, ...others]) => {
          if (first === undefined) return null;
          const numbers = new Set([first, ...others].flatMap(({ exchanges }) => exchanges));
          return (
            <li key={first.exchanges.join()}>
              <p class="breaks">
                <CodeText text={findingText(first.what)} />
              </p>
              <p class="dim">
                {sourceOf(first)}, requests{' '}
                {[...numbers].map((number, index) => [
                  index > 0 && ', ',
                  <a href={`#/referee/${number}`} aria-label={`Timeline of request ${number}`}>
                    {number}
                  </a>,
                ])}
              </p>
            </li>
          );
        })}
      </ul>
      {groups.length > mostShownFindings && (
        <p class="foot dim">{groups.length - mostShownFindings} more are not shown.</p>
      )}
    </Card>
  );
}

/** Whose requests a finding is about, and which. */
function sourceOf({ account_id: id, endpoint }: RuleVerdict['findings'][number]): string {
  return `${id === null ? 'not authenticated' : accountName(id)}, ${endpoint ?? 'unknown path'}`;
}

const columns: readonly Column<RuleVerdict>[] = [
  ruleColumn,
  { head: 'Level', cell: ({ level }) => level },
  { head: 'Sentence', cell: ({ id }) => ruleText(id), kind: 'wide' },
  { head: 'Verdict', cell: ({ verdict }) => <VerdictBadge verdict={verdict} /> },
  { head: 'Exercised', cell: ({ exercised }) => exercised.toLocaleString('en'), kind: 'number' },
];

/** Opens a file of `smstwin explore`. */
function FindingFile() {
  const finding = useSignal<FindingView | undefined>(undefined);
  const problem = useSignal('');
  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    const parsed = readJson(await file.text()) as Partial<FindingView> | null;
    const isFinding = Array.isArray(parsed?.timeline) && Array.isArray(parsed.failures);
    finding.value = isFinding ? (parsed as FindingView) : undefined;
    problem.value = isFinding
      ? ''
      : `${file.name} is not a finding: expected a finding-N.json of smstwin explore.`;
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
            <b>{String(finding.value.cause)}</b>: {String(finding.value.what)}
          </p>
          <Timeline events={eventsOf(finding.value)} />
        </>
      )}
    </Card>
  );
}

/** Each exchange; a failure follows the last exchange that proves it. */
function eventsOf({ failures, timeline }: FindingView): TraceEvent[] {
  return timeline.flatMap(({ number, at, method, target, fault, status, seen, attempt }) => {
    const sendKind = (attempt ?? 1) > 1 ? 'retry' : 'request';
    const exchange: TraceEvent = {
      kind: method === 'GET' ? 'read' : sendKind,
      ...{ at, number, reply: status, seen, text: `${method} ${target}` },
      fault: fault && `fault: ${fault}`,
    };
    const proved = failures.filter(({ exchanges }) => exchanges.at(-1) === number);
    const findings = proved.map(({ cause, what }) => `${cause}: ${what}`);
    return [exchange, ...findings.map((text): TraceEvent => ({ kind: 'finding', at, text }))];
  });
}
