/**
 * The first page: how a client uses this world, ready to copy, and what has happened in it.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { statuses } from '../../../sim/status.ts';
import { state } from '../clock.ts';
import { call } from '../control.ts';
import { CopyButton } from '../parts/action.tsx';
import { Choices, choicesOf } from '../parts/fields.tsx';
import { Card, Empty, Loaded } from '../parts/frame.tsx';
import { Table } from '../parts/table.tsx';
import { CopyFacts, StatusBadge } from '../parts/values.tsx';
import { useResource } from '../reading.ts';
import { addressOf, shownWorld } from '../route.ts';
import type { Reply } from '../wire.ts';
import { counted, fateText } from '../words.ts';
import { clientOf, setups } from './setups.ts';

export function HomePage() {
  const world = useResource(() => call('worlds.get', shownWorld), { on: ['sim'] });
  return (
    <div class="stack">
      <Happened />
      <Loaded of={world} what="this world">
        {(value) => <Use world={value} />}
      </Loaded>
      <Recipients />
    </div>
  );
}

/** Counts, each with a link to what it counts. */
function Happened() {
  const now = state.value;
  const report = useResource(() => call('referee.report', { partial: true }), {
    on: ['traffic', 'clock'],
  });
  if (now === undefined) return null;
  const { messages, requests, throttled } = now;
  const findings = (report.value?.rules ?? []).reduce((sum, rule) => sum + rule.findings.length, 0);
  const counts: readonly (readonly [href: string, what: ComponentChildren])[] = [
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
        {counts.map(([href, what]) => (
          <li key={href}>
            <a href={href}>{what}</a>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Use({ world }: { readonly world: Reply<'worlds.get'> }) {
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
  const others = world.accounts.filter(({ name, api_key: own }) => name !== account && own !== '');
  const setup = setups[language.value]?.(client) ?? '';
  return (
    <Card title="Use it">
      <CopyFacts
        of={[
          ['Base URL', baseUrl],
          [`API key of ${account}`, key],
          [`from of ${account}`, from],
          ...others.map(({ name, api_key: own }) => [`API key of ${name}`, own] as const),
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

function Recipients() {
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
      <Loaded of={outcomes} what="recipients">
        {({ outcomes: all }) => (
          <Table
            label="Scripted recipients"
            columns={[
              { head: 'To', cell: ({ to }) => to, kind: 'mono', namesRow: true },
              { head: 'The message', cell: fateText },
            ]}
            rows={all}
            keyOf={({ to }) => to}
          />
        )}
      </Loaded>
    </Card>
  );
}
