/**
 * The page Referee. The referee judges recorded requests by the rules of a good client. The page
 * shows the verdict on each rule, the requests that break it, and the timeline of one intent (one
 * message that the client means to send once).
 */
import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FindingView } from '#contract/fault-schedule.ts';
import { call, type RefereeReport } from '../control.ts';
import { Action } from '../parts/action.tsx';
import { Check } from '../parts/fields.tsx';
import { Card, Detail, Empty, Loaded, Split } from '../parts/frame.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { findingText, Timeline, Trace, type TraceEvent } from '../parts/timeline.tsx';
import { CodeText, VerdictBadge } from '../parts/values.tsx';
import { filterValue } from '../route.ts';
import { counted, readJson } from '../value-texts.ts';
import { accountName, useFinalReport, useReport, useWorld } from '../world.ts';
import { ruleColumn, ruleText } from './rules.tsx';

type RuleVerdict = RefereeReport['rules'][number];

/** `open`: the rule holds so far, but would be broken if the client sent nothing more. */
const verdicts = ['failed', 'open', 'advice', 'passed', 'not_exercised'] as const;
/** `later`: how many findings are added if the client has finished. */
type ShownRule = RuleVerdict & Readonly<{ later: number; shown: (typeof verdicts)[number] }>;

/** For each rule: the findings to read, the rows to show at first, and the requests in a row. */
const mostFindings = 500;
const firstRows = 3;
const mostNumbers = 6;

/** The page's checkbox; it keeps its state while other pages are shown, and a link may set it. */
const isFinished = signal(false);

export function RefereePage() {
  const asked = filterValue('finished');
  useEffect(() => {
    if (asked !== '') isFinished.value = asked === 'yes';
  }, [asked]);
  const report = useReport({ partial: !isFinished.value, most: mostFindings });
  const finished = useFinalReport(report.value);
  // The findings show account names, which come from the world.
  useWorld();
  return (
    <Split
      listClass="stack split-list referee"
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
        <Check isOn={isFinished}>
          Judge as finished: also retries under a new request_id, and intents given up
        </Check>
        <Action
          warning="The requests so far are no longer judged."
          act={() => call('referee.restart')}
        >
          Clear record
        </Action>
      </div>
      <Loaded resource={report} what="verdicts">
        {(loaded) => reportOf(loaded, finished)}
      </Loaded>
      <FindingFile />
    </Split>
  );
}

/** `finished`: the report as if the client had finished. */
function reportOf(report: RefereeReport, finished: RefereeReport | undefined) {
  const { exchanges, unattributable, notices } = report;
  if (exchanges === 0) {
    return (
      <Empty title="No request yet.">
        The requests of clients are judged here as soon as they arrive.
      </Empty>
    );
  }
  const foundLater = new Map(finished?.rules.map(({ id, found = 0 }) => [id, found]));
  const rules = report.rules.map((rule): ShownRule => {
    const later = (foundLater.get(rule.id) ?? 0) - (rule.found ?? 0);
    return { ...rule, later, shown: later > 0 && !rule.found ? 'open' : rule.verdict };
  });
  const ranked = verdicts.map((verdict) => rules.filter(({ shown }) => shown === verdict));
  const counts = ranked.map(({ length }, rank) => `${length} ${verdicts[rank]?.replace('_', ' ')}`);
  const sorted = ranked.flat();
  const open = sorted.filter(({ shown }) => shown === 'open').map(({ id }) => id);
  return (
    <>
      <p role="status">
        {counted(exchanges, 'request')} judged. Rules: {counts.join(', ')}.
        {unattributable > 0 &&
          ` ${unattributable} sends cannot be attributed to one message and fail no rule.`}
      </p>
      {open.length > 0 && (
        <p class="actions">
          <b class="problem">open: fails if the client has finished: {open.join(', ')}</b>
          <Action act={() => (isFinished.value = true)}>Judge as finished</Action>
        </p>
      )}
      {notices.map(({ what }) => (
        <p key={what}>{what}</p>
      ))}
      {sorted.filter(({ findings }) => findings.length > 0).map(findingsOf)}
      <Card title="Client rules">
        <Table label="client rules" columns={columns} rows={sorted} keyOf={({ id }) => id} />
      </Card>
    </>
  );
}

function findingsOf({ id, verdict, findings, found = 0 }: ShownRule) {
  const groups = Map.groupBy(findings, (each) => sourceOf(each) + findingText(each.what));
  return (
    <Card
      key={id}
      title={id}
      head={
        <span class="actions">
          {counted(found, 'finding')}
          {found > findings.length && `, the first ${findings.length} below`}
          <VerdictBadge verdict={verdict} />
        </span>
      }
      lead={ruleText(id)}
    >
      <Table
        label={`findings of ${id}`}
        columns={findingColumns}
        rows={[...groups.values()]}
        keyOf={([first]) => `${first?.exchanges}`}
        first={firstRows}
      />
    </Card>
  );
}

const findingColumns = [{ head: 'Finding', isHeadHidden: true, cell: groupOf }];

/** One row for all findings of an account and an endpoint that have the same text. */
function groupOf(group: RuleVerdict['findings']) {
  const [first] = group;
  if (first === undefined) return null;
  const numbers = [...new Set(group.flatMap(({ exchanges }) => exchanges))];
  const others = numbers.length - mostNumbers;
  return (
    <>
      <p class="breaks">
        <CodeText text={findingText(first.what)} />
      </p>
      {first.to !== null && (
        <p class="breaks">
          Request {first.exchanges[0]}, to <span class="mono">{first.to}</span>: {first.text}
        </p>
      )}
      <p class="dim">
        {sourceOf(first)}, requests{' '}
        {numbers.slice(0, mostNumbers).map((number, index) => [
          index > 0 && ', ',
          <a href={`#/referee/${number}`} aria-label={`Timeline of request ${number}`}>
            {number}
          </a>,
        ])}
        {others > 0 && ` and ${others.toLocaleString('en')} more`}
      </p>
    </>
  );
}

function sourceOf({ account_id: id, endpoint }: RuleVerdict['findings'][number]): string {
  return `${id === null ? 'not authenticated' : accountName(id)}, ${endpoint ?? 'unknown path'}`;
}

const columns: readonly Column<ShownRule>[] = [
  ruleColumn,
  { head: 'Level', cell: ({ level }) => level },
  { head: 'Sentence', cell: ({ id }) => ruleText(id), class: 'wide' },
  {
    head: 'Verdict',
    cell: ({ shown, later }) => [
      <VerdictBadge key="shown" verdict={shown} />,
      later > 0 && <p class="dim">{counted(later, 'more finding')} if finished</p>,
    ],
  },
  { head: 'Exercised', cell: ({ exercised }) => exercised.toLocaleString('en'), class: 'number' },
];

/** Opens a file of `smstwin explore`. */
function FindingFile() {
  /** The finding, or a text that says why the file is not one. */
  const opened = useSignal<FindingView | string>('');
  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    const parsed = readJson(await file.text()) as Partial<FindingView> | null;
    const isFinding = Array.isArray(parsed?.timeline) && Array.isArray(parsed.failures);
    const problem = `${file.name} is not a finding: expected a finding-N.json of smstwin explore.`;
    opened.value = isFinding ? (parsed as FindingView) : problem;
  };
  const { value } = opened;
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
        {typeof value === 'string' && value}
      </p>
      {typeof value !== 'string' && [
        <CodeText text={`${value.cause}: ${value.what}`} />,
        <Timeline events={eventsOf(value)} />,
      ]}
    </Card>
  );
}

/** Each exchange; a failure follows the last exchange that proves it. */
function eventsOf({ failures, timeline }: FindingView): TraceEvent[] {
  return timeline.flatMap(({ number, at, method, target, fault, status, seen, attempt }) => {
    const sendKind = (attempt ?? 1) > 1 ? 'retry' : 'request';
    const exchange: TraceEvent = {
      kind: method === 'GET' ? 'read' : sendKind,
      at,
      number,
      reply: status,
      seen,
      text: `${method} ${target}`,
      fault: fault && `fault: ${fault}`,
    };
    const proved = failures.filter(({ exchanges }) => exchanges.at(-1) === number);
    const findings = proved.map(({ cause, what }) => `${cause}: ${what}`);
    return [exchange, ...findings.map((text): TraceEvent => ({ kind: 'finding', at, text }))];
  });
}
