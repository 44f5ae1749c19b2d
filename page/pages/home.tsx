/**
 * The page Home: what is now and what has happened in this world, what a client needs to use it
 * (ready to copy), and the recipients with a scripted outcome.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { faultSubject, faultWords } from '#contract/fault-kinds.ts';
import { breaches } from '#contract/rules.ts';
import { minuteMs } from '#contract/time.ts';
import { searchTerm } from '#src/operations/requests/search-words.ts';
import { nowMs, state } from '../clock.ts';
import { type Bucket, call, type RefereeReport, type Reply } from '../control.ts';
import { kinds } from '../events.ts';
import type { ListDeclaration } from '../list-declaration.ts';
import { assumptionList, isChanged, outcomeList, outcomeRow } from '../lists.ts';
import { CopyButton, exampleIn, languages } from '../parts/copy-and-save.tsx';
import { Choices } from '../parts/fields.tsx';
import { Card, Empty, Loaded, Loading } from '../parts/frame.tsx';
import { List } from '../parts/list.tsx';
import { CodeText, CopyFacts, statusLinks, ThrottledUntil, Time } from '../parts/values.tsx';
import { useReply, useResource } from '../resource.ts';
import { addressOf, shownWorld } from '../route.ts';
import { counted, textOf } from '../value-texts.ts';
import {
  accountName,
  clientOf,
  useBuckets,
  useFinalReport,
  useReport,
  useWorld,
} from '../world.ts';
import { ruleText } from './rules.tsx';

export function HomePage() {
  const world = useReply('worlds.get', [shownWorld], ['sim']);
  const report = useReport({ partial: true, most: 1 }).value;
  const reports = { report, finished: useFinalReport(report) };
  return (
    <div class="stack">
      <Now {...reports} />
      <Activity {...reports} />
      <Loaded resource={world} what="this world">
        {(value) => <ClientSetup world={value} />}
      </Loaded>
      <List declaration={recipientList} />
    </div>
  );
}

/** The referee's report so far, and the one as if the client had finished. */
type ReportProps = Readonly<Record<'report' | 'finished', RefereeReport | undefined>>;

/** What a user must see first: throttled accounts, waiting messages, faults and broken rules. */
function Now({ report, finished }: ReportProps) {
  const world = useWorld();
  const throttled = useThrottledRows();
  const waiting = useReply('messages.standstills', [], kinds);
  const faults = useReply('faults.list', [], kinds);
  const assumptions = useResource(async () => assumptionList.readRows?.(), ['operation']);
  const changed = (assumptions.value ?? []).filter(isChanged);
  const changedHref = addressOf('rules', '', { search: 'not the default' });
  const answers = changed.map(({ name, answer }) => `${name} = ${textOf(answer)}`).join(', ');
  const broken = brokenIn(report);
  const later = brokenIn(finished).filter(({ id }) => !broken.some((rule) => rule.id === id));
  if (world === undefined) return <Loading what="what is now" />;
  const rows = [
    ...throttled,
    ...(waiting.value?.standstills ?? []).map(waitingRow),
    ...(faults.value?.faults ?? []).map(faultRow),
    ...broken.map(({ id, found = 0 }) =>
      row('#/referee?finished=no', id, `${counted(found, 'finding')}: `, ruleText(id)),
    ),
    later.length > 0 &&
      row(
        '#/referee?finished=yes',
        'Rules broken, if the client has finished',
        later.map(({ id }) => `${id}: ${breaches[id as keyof typeof breaches]}`).join('; '),
      ),
    answers !== '' &&
      row(changedHref, `Not the default: ${counted(changed.length, 'assumption')}`, answers),
  ].filter((each) => each !== false);
  return (
    <Card title="Now">
      {rows.length === 0 ? (
        <p>
          No caller is throttled, every message moves by itself, no fault is set, and no client rule
          is broken.
        </p>
      ) : (
        <ul class="ledger now-list" aria-label="What is now">
          {rows}
        </ul>
      )}
    </Card>
  );
}

/** The key leaves out a count of messages, so that the row stays while the count changes. */
function row(href: string, name: string, ...text: readonly ComponentChildren[]) {
  return (
    <li key={`${name.replace(/^[\d,]+ messages?/, '')} ${href}`}>
      <a href={href}>{name}</a> <span>{text}</span>
    </li>
  );
}

/** The rows of throttled callers. A row stays for a minute after its bucket was empty. */
function useThrottledRows() {
  const buckets = useBuckets().value?.buckets ?? [];
  const wereEmpty = useRef(new Map<string, Bucket>()).current;
  const empty = buckets.filter(({ next_at: nextAt }) => nextAt !== null);
  for (const bucket of empty) wereEmpty.set(`${bucket.account_id} ${bucket.endpoint}`, bucket);
  return [...wereEmpty.values()].map((bucket) => throttledRow(bucket, empty.includes(bucket)));
}

function throttledRow({ account_id: id, endpoint, next_at: at }: Bucket, isEmpty: boolean) {
  const name = accountName(id);
  const search = `is:throttled ${searchTerm('account', name)} endpoint:${endpoint}`;
  const href = addressOf('requests', '', { search });
  const title = `${name}: ${endpoint}`;
  if (isEmpty) return row(href, title, 'answered ', <ThrottledUntil at={at ?? ''} />);
  const agoMs = (nowMs.value ?? 0) - Date.parse(at ?? '');
  const isRecent = agoMs >= 0 && agoMs < minuteMs;
  return isRecent && row(href, title, `free again since ${at?.slice(11, 19)}`);
}

type Standstill = Reply<'messages.standstills'>['standstills'][number];

/** Messages that wait for the same thing. */
function waitingRow({ message_id: id, from, to, messages, sentence, since }: Standstill) {
  const href = addressOf('messages', id, { from, ...(to && { to }) });
  const name = `${counted(messages, 'message')} from ${from}${to ? ` to ${to}` : ''}`;
  const why = <CodeText text={sentence.slice(0, -1)} />;
  return row(href, name, why, '; the oldest came ', <Time at={since} />);
}

function faultRow(fault: Reply<'faults.list'>['faults'][number]) {
  const { fault_id: id, hits, paused } = fault;
  const href = addressOf('requests', '', { search: `fault:${id}` });
  const subject = faultSubject(fault, accountName);
  const whatNow = paused ? 'paused' : `struck ${counted(hits, 'request')}`;
  return row(href, id, `${faultWords(fault)}; ${subject}; ${whatNow}`);
}

/** The rules that the client breaks, or the advice that it does not follow. */
function brokenIn(report: ReportProps['report'], breach: 'failed' | 'advice' = 'failed') {
  return (report?.rules ?? []).filter(({ verdict }) => verdict === breach);
}

/** `2 rules broken (3 findings) so far, 5 pieces of advice`. */
function verdictText(report: ReportProps['report'], when: string): string {
  const [broken, advice] = [brokenIn(report), brokenIn(report, 'advice')];
  const count = (rules: typeof broken) => rules.reduce((sum, { found = 0 }) => sum + found, 0);
  const findings = broken.length === 0 ? '' : ` (${counted(count(broken), 'finding')})`;
  const pieces = advice.length === 0 ? '' : `, ${counted(count(advice), 'piece')} of advice`;
  return `${counted(broken.length, 'rule')} broken${findings} ${when}${pieces}`;
}

/** Counts, each with a link to the page that lists what it counts. */
function Activity({ report, finished }: ReportProps) {
  const counts = state.value;
  if (counts === undefined) return null;
  const { messages, requests, throttled } = counts;
  if (requests === 0 && messages.total === 0) {
    return (
      <Empty title="Nothing has happened yet.">
        Copy the command below, or <a href="#/send">send a message from here</a>.
      </Empty>
    );
  }
  const links = [
    <a href="#/requests">{counted(requests, 'request')} since the start</a>,
    <a href="#/requests?search=status%3A429">{throttled.toLocaleString('en')} answered 429</a>,
    <a href="#/referee?finished=yes">{verdictText(finished, 'if the client has finished')}</a>,
    <a href="#/referee?finished=no">{verdictText(report, 'so far')}</a>,
    <a href="#/messages">{counted(messages.total, 'message')}</a>,
    ...statusLinks(messages),
  ];
  return (
    <Card title="What happened">
      <ul class="counts">
        {links.map((link) => (
          <li key={link.props.href}>{link}</li>
        ))}
      </ul>
    </Card>
  );
}

function ClientSetup({ world }: { readonly world: Reply<'worlds.get'> }) {
  const language = useSignal('curl');
  const client = clientOf(world);
  if (client === undefined) {
    return (
      <Empty title="No key of this world can be shown again.">
        Create one under <a href="#/accounts">Accounts</a>. A key needs an account with a number, or
        a number of the pool.
      </Empty>
    );
  }
  const facts = world.accounts
    .filter(({ api_key: key }) => key !== '')
    .flatMap(({ name, api_key: key, sims }) => [
      [`API key of ${name}`, key] as const,
      [`Number of ${name} to send from`, (sims[0] ?? world.pool[0])?.number ?? 'none'] as const,
    ]);
  const example = exampleIn(language.value, client);
  return (
    <Card title="Use it">
      <CopyFacts facts={[['Base URL', client.baseUrl], ...facts]} />
      <div class="card-head section">
        <span class="filters">
          <span aria-hidden="true">Language</span>
          <Choices
            aria-label="Language"
            choices={languages}
            value={language.value}
            onChoose={(chosen) => (language.value = chosen)}
          />
        </span>
        <CopyButton text={() => example}>Copy the example</CopyButton>
      </div>
      <p class="dim">In your own client, change only the base URL and the key.</p>
      <pre data-testid="setup">{example}</pre>
    </Card>
  );
}

/** The recipients of the page Faults, where they are changed, without counts of their messages. */
const readRows = async () => (await call('outcomes.get')).outcomes.map(outcomeRow);
const shown = { readRows, columns: ['to', 'outcome'], actions: [], forms: [] };
const lead = 'Messages to all others are delivered, one status at each poll of the SIM.';
const recipientList: ListDeclaration = { ...outcomeList, ...shown, lead, isSteady: true };
