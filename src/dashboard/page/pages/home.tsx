/**
 * The first page: how a client uses this world, ready to copy, and what has happened in it.
 */
import { useSignal } from '@preact/signals';
import { state } from '../clock.ts';
import { call } from '../control.ts';
import { shownWorld } from '../hosted-world.ts';
import { CopyButton } from '../parts/action.tsx';
import { CopyFacts } from '../parts/facts.tsx';
import { Choices, choicesOf } from '../parts/fields.tsx';
import { Empty, Loaded } from '../parts/notices.tsx';
import { StatusBadge } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { useResource } from '../resource.ts';
import { addressOf } from '../route.ts';
import { statuses } from '../wire.ts';
import { fateText } from './fates.ts';
import { type Client, clientOf, setups } from './setups.ts';

export function HomePage() {
  const world = useResource(() => call('worlds.get', shownWorld), { on: ['sim'] });
  return (
    <div class="stack">
      <Happened />
      <Loaded of={world} what="this world">
        {(value) => <Use client={clientOf(value)} accounts={value.accounts} />}
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
  const counted = (count: number, one: string, many = `${one}s`) =>
    `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
  if (requests === 0 && messages.total === 0) {
    return (
      <Empty title="Nothing has happened yet.">
        <p>
          Copy the command below, or <a href="#/send">send a message from here</a>.
        </p>
      </Empty>
    );
  }
  return (
    <section class="card" aria-labelledby="happened-title">
      <h2 id="happened-title">What happened since the start</h2>
      <ul class="counts">
        <li>
          <a href="#/requests">{counted(requests, 'request')}</a>
        </li>
        <li>
          <a href={addressOf('requests', '', { search: 'status:429' })}>
            {counted(throttled, 'answered 429', 'answered 429')}
          </a>
        </li>
        <li>
          <a href="#/referee">
            {counted(findings, 'finding of the referee', 'findings of the referee')}
          </a>
        </li>
        <li>
          <a href="#/messages">{counted(messages.total, 'message')}</a>
        </li>
        {statuses
          .filter((status) => messages[status] > 0)
          .map((status) => (
            <li key={status}>
              <a href={addressOf('messages', '', { status })}>
                <StatusBadge status={status} /> {messages[status].toLocaleString('en')}
              </a>
            </li>
          ))}
      </ul>
    </section>
  );
}

interface UseProps {
  readonly client: Client | undefined;
  readonly accounts: readonly { readonly name: string; readonly api_key: string }[];
}

function Use({ client, accounts }: UseProps) {
  const language = useSignal('curl');
  if (client === undefined) {
    return (
      <Empty title="No key of this world can be shown again.">
        <p>
          Create one under <a href="#/keys">API keys</a>. A key needs an account with a number, or a
          number of the pool.
        </p>
      </Empty>
    );
  }
  const { baseUrl, account, key, from } = client;
  const others = accounts.filter(({ name, api_key: own }) => name !== account && own !== '');
  const setup = setups[language.value]?.(client) ?? '';
  return (
    <section class="card" aria-labelledby="use-title">
      <h2 id="use-title">Use it</h2>
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
    </section>
  );
}

function Recipients() {
  const outcomes = useResource(() => call('outcomes.get'));
  return (
    <section class="card" aria-labelledby="recipients-title">
      <h2 id="recipients-title">Scripted recipients</h2>
      <p class="dim lead">
        Messages to all others are delivered, one status at each poll of the SIM. Add your own under{' '}
        <a href="#/faults">Faults</a>.
      </p>
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
    </section>
  );
}
