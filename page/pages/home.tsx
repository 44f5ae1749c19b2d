/**
 * The page Home: what has happened in this world, what a client needs to use it (ready to copy),
 * and the recipients with a scripted outcome.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { statuses } from '#contract/message-status.ts';
import { state } from '../clock.ts';
import { call } from '../control.ts';
import { CopyButton } from '../parts/copy-and-save.tsx';
import { Choices, choicesOf } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { Table } from '../parts/table.tsx';
import { CopyFacts, StatusBadge } from '../parts/values.tsx';
import { useResource } from '../resource.ts';
import { addressOf, shownWorld } from '../route.ts';
import type { Reply } from '../wire.ts';
import { counted, outcomeText } from '../words.ts';
import { clientOf, setups } from './copies.ts';

export function HomePage() {
  const world = useResource(() => call('worlds.get', shownWorld), { rereadAfter: ['sim'] });
  return (
    <div class="stack">
      <Activity />
      <Loaded resource={world} what="this world">
        {(value) => <ClientSetup world={value} />}
      </Loaded>
      <ScriptedRecipients />
    </div>
  );
}

/** Counts, each with a link to the page that lists what it counts. */
function Activity() {
  const counts = state.value;
  const report = useResource(() => call('referee.report', { partial: true }), {
    rereadAfter: ['traffic', 'clock'],
  });
  if (counts === undefined) return null;
  const { messages, requests, throttled } = counts;
  const findings = (report.value?.rules ?? []).reduce((sum, rule) => sum + rule.findings.length, 0);
  const links: readonly (readonly [href: string, text: ComponentChildren])[] = [
    ['#/requests', `${counted(requests, 'request')} since the start`],
    ['#/requests?search=status%3A429', counted(throttled, 'answered 429', 'answered 429')],
    ['#/referee', counted(findings, 'finding of the referee', 'findings of the referee')],
    ['#/messages', counted(messages.total, 'message')],
    ...statuses
      .filter((status) => messages[status] > 0)
      .map(
        (status) =>
          [
            addressOf('messages', '', { status }),
            <>
              <StatusBadge status={status} /> {messages[status].toLocaleString('en')}
            </>,
          ] as const,
      ),
  ];
  if (requests === 0 && messages.total === 0) {
    return (
      <Empty title="Nothing has happened yet.">
        Copy the command below, or <a href="#/send">send a message from here</a>.
      </Empty>
    );
  }
  return (
    <Card title="What happened">
      <ul class="counts">
        {links.map(([href, text]) => (
          <li key={href}>
            <a href={href}>{text}</a>
          </li>
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
        Create one under <a href="#/keys">API keys</a>. A key needs an account with a number, or a
        number of the pool.
      </Empty>
    );
  }
  const { baseUrl, account, key, from } = client;
  const otherKeys = world.accounts
    .filter(({ name, api_key: otherKey }) => name !== account && otherKey !== '')
    .map(({ name, api_key: otherKey }) => [`API key of ${name}`, otherKey] as const);
  const setup = setups[language.value]?.(client) ?? '';
  return (
    <Card title="Use it">
      <CopyFacts
        facts={[
          ['Base URL', baseUrl],
          [`API key of ${account}`, key],
          [`from of ${account}`, from],
          ...otherKeys,
        ]}
      />
      <div class="card-head section">
        <span class="filters">
          <span aria-hidden="true">Language</span>
          <Choices
            aria-label="Language"
            choices={choicesOf(Object.keys(setups))}
            value={language.value}
            onChoose={(chosen) => {
              language.value = chosen;
            }}
          />
        </span>
        <CopyButton text={() => setup}>Copy the example</CopyButton>
      </div>
      <p class="dim">In your own client, change only the base URL and the key.</p>
      <pre data-testid="setup">{setup}</pre>
    </Card>
  );
}

function ScriptedRecipients() {
  const outcomes = useResource(() => call('outcomes.get'));
  return (
    <Card
      title="Scripted recipients"
      lead={
        <>
          Messages to all others are delivered, one status at each poll of the SIM. Add your own
          under <a href="#/faults">Faults</a>.
        </>
      }
    >
      <Loaded resource={outcomes} what="recipients">
        {({ outcomes: recipients }) => (
          <Table
            label="Scripted recipients"
            columns={[
              { head: 'To', cell: ({ to }) => to, kind: 'mono', namesRow: true },
              { head: 'The message', cell: outcomeText },
            ]}
            rows={recipients}
            keyOf={({ to }) => to}
          />
        )}
      </Loaded>
    </Card>
  );
}
