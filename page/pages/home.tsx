/**
 * The page Home: what is now and what has happened in this world, what a client needs to use it
 * (ready to copy), and the recipients with a scripted outcome.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { searchWord } from '#src/operations/requests/search-words.ts';
import { state } from '../clock.ts';
import { call } from '../control.ts';
import { kinds } from '../events.ts';
import type { ListDeclaration } from '../list-declaration.ts';
import { outcomeList, outcomeRow } from '../lists.ts';
import { CopyButton } from '../parts/copy-and-save.tsx';
import { Choices } from '../parts/fields.tsx';
import { Card, Empty, Loaded, Loading } from '../parts/frame.tsx';
import { List } from '../parts/list.tsx';
import { CodeText, CopyFacts, statusLinks, ThrottledUntil, Time } from '../parts/values.tsx';
import { useReply } from '../resource.ts';
import { addressOf, shownWorld } from '../route.ts';
import type { Reply } from '../wire.ts';
import { counted, faultSubject, faultWords } from '../words.ts';
import { accountName, useBuckets, useWorld } from '../world.ts';
import { clientOf, exampleIn, languages } from './copies.ts';
import { ruleText } from './rules.tsx';

export function HomePage() {
  const world = useReply('worlds.get', [shownWorld], ['sim']);
  const report = useReply('referee.report', [{ partial: true }], ['traffic', 'clock']);
  return (
    <div class="stack">
      <Now report={report.value} />
      <Activity report={report.value} />
      <Loaded resource={world} what="this world">
        {(value) => <ClientSetup world={value} />}
      </Loaded>
      <p>
        Messages to all but these are delivered, one status at each poll of the SIM. Add your own
        under <a href="#/faults">Faults</a>.
      </p>
      <List declaration={recipientList} />
    </div>
  );
}

type Report = Reply<'referee.report'> | undefined;

/** What a reader must know at once: who is throttled, what waits for them, faults, broken rules. */
function Now({ report }: { readonly report: Report }) {
  const world = useWorld();
  const buckets = useBuckets();
  const waiting = useReply('messages.standstills', [], kinds);
  const faults = useReply('faults.list', [], kinds);
  const broken = (report?.rules ?? []).filter(({ verdict }) => verdict === 'failed');
  const throttled = (buckets.value?.buckets ?? []).filter(({ next_at: nextAt }) => nextAt !== null);
  if (world === undefined) return <Loading what="what is now" />;
  const row = (href: string, name: string, ...text: readonly ComponentChildren[]) => (
    <li key={`${name} ${href}`}>
      <a href={href}>{name}</a> <span>{text}</span>
    </li>
  );
  const rows = [
    ...throttled.map(({ account_id: id, endpoint, next_at: at }) => {
      const name = accountName(id);
      const search = `is:throttled ${searchWord('account', name)} endpoint:${endpoint}`;
      const href = addressOf('requests', '', { search });
      return row(href, `${name}: ${endpoint}`, 'answered ', <ThrottledUntil at={at ?? ''} />);
    }),
    ...(waiting.value?.standstills ?? []).map(({ message_id: id, messages, from, ...group }) => {
      const href = `#/messages/${id}?from=${encodeURIComponent(from)}`;
      const since = <Time at={group.since} />;
      const text = [<CodeText text={group.sentence} />, <span class="dim"> since {since}</span>];
      return row(href, `${counted(messages, 'message')} from ${from}`, ...text);
    }),
    ...(faults.value?.faults ?? []).map((fault) => {
      const { fault_id: id, hits, paused } = fault;
      const href = addressOf('requests', '', { search: `fault:${id}` });
      const subject = faultSubject(fault, accountName);
      const state = paused ? 'paused' : `struck ${counted(hits, 'request')}`;
      return row(href, id, `${faultWords(fault)}; ${subject}; ${state}`);
    }),
    ...broken.map(({ id, findings }) => {
      const name = `${id}: ${counted(findings.length, 'finding')}`;
      return row('#/referee', name, ruleText(id));
    }),
  ];
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

/** Counts, each with a link to the page that lists what it counts. */
function Activity({ report }: { readonly report: Report }) {
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
  const findings = (report?.rules ?? []).reduce((sum, rule) => sum + rule.findings.length, 0);
  const links = [
    <a href="#/requests">{counted(requests, 'request')} since the start</a>,
    <a href="#/requests?search=status%3A429">{throttled.toLocaleString('en')} answered 429</a>,
    <a href="#/referee">{counted(findings, 'finding')} of the referee</a>,
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
  const { baseUrl, account, key, from } = client;
  const others = world.accounts
    .filter(({ name, api_key: otherKey }) => name !== account && otherKey !== '')
    .flatMap(({ name, api_key: otherKey, sims }) => [
      [`API key of ${name}`, otherKey] as const,
      [`Number of ${name} to send from`, (sims[0] ?? world.pool[0])?.number ?? 'none'] as const,
    ]);
  const example = exampleIn(language.value, client);
  return (
    <Card title="Use it">
      <CopyFacts
        facts={[
          ['Base URL', baseUrl],
          [`API key of ${account}`, key],
          [`Number of ${account} to send from`, from],
          ...others,
        ]}
      />
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
const shown = { readRows, columns: ['to', 'its_message'], actions: [], forms: [] };
const recipientList: ListDeclaration = { ...outcomeList, ...shown };
