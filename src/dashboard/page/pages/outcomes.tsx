/**
 * Scripted recipients: what becomes of messages to them, and how many there were.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { readFields, wholeNumber } from '../numbers.ts';
import { Action } from '../parts/action.tsx';
import { Select, TextField } from '../parts/fields.tsx';
import { Failure, Loading } from '../parts/notices.tsx';
import { TableScroll } from '../parts/table-scroll.tsx';
import { useResource } from '../resource.ts';
import type { Outcome } from '../wire.ts';

interface Scripts {
  readonly outcomes: readonly Outcome[];
  readonly hits: readonly number[];
}

export function OutcomesPanel() {
  const scripts = useResource(readScripts, { on: ['message', 'clock'], everyMs: 5_000 });
  const { value, error, refresh } = scripts;
  const put = async (outcomes: readonly Outcome[]) => {
    await call('outcomes.put', { outcomes });
    refresh();
  };
  return (
    <section class="card" aria-labelledby="outcomes-title">
      <h2 id="outcomes-title">Scripted recipients</h2>
      <Failure error={error} />
      {value === undefined ? (
        <Loading what="scripted recipients" />
      ) : (
        <>
          <OutcomeTable scripts={value} put={put} />
          <OutcomeForm add={(outcome) => put([outcome, ...value.outcomes])} />
        </>
      )}
    </section>
  );
}

async function readScripts(): Promise<Scripts> {
  const [{ outcomes }, { hits }] = await Promise.all([call('outcomes.get'), call('outcomes.hits')]);
  return { outcomes, hits };
}

interface OutcomeTableProps {
  readonly scripts: Scripts;
  readonly put: (outcomes: readonly Outcome[]) => Promise<void>;
}

function OutcomeTable({ scripts, put }: OutcomeTableProps) {
  const { outcomes, hits } = scripts;
  return (
    <TableScroll label="Scripted recipients">
      <table>
        <thead>
          <tr>
            <th scope="col">Recipient</th>
            <th scope="col">Fate</th>
            <th scope="col" class="number">
              Messages
            </th>
            <th scope="col" class="last">
              <span class="hidden">Levers</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {outcomes.map((outcome, place) => (
            <tr key={outcome.to}>
              <th scope="row" class="mono">
                {outcome.to}
              </th>
              <td>{fateText(outcome)}</td>
              <td class="number">{hits[place] ?? 0}</td>
              <td class="last">
                {isFixed(outcome.to) ? (
                  <span class="dim">fixed</span>
                ) : (
                  <Action
                    act={() => put(outcomes.filter((one) => one !== outcome))}
                    label={`Remove ${outcome.to}`}
                  >
                    Remove
                  </Action>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** Those of every world: they come back when they are taken away. */
function isFixed(to: string): boolean {
  return /^\+1202555016[0-6]$/.test(to);
}

function fateText(outcome: Outcome): string {
  const pace = outcome.polls === 1 ? '' : `, each step takes ${outcome.polls} polls`;
  if (outcome.ends === 'delivered') return `is delivered${pace}`;
  return `${outcome.ends === 'failed' ? 'fails while' : 'stays'} ${outcome.in}${pace}`;
}

const fates = [
  { value: 'failed queued', label: 'fails while queued' },
  { value: 'failed sending', label: 'fails while sending' },
  { value: 'failed sent', label: 'fails while sent' },
  { value: 'stuck queued', label: 'stays queued' },
  { value: 'stuck sending', label: 'stays sending' },
  { value: 'stuck sent', label: 'stays sent' },
  { value: 'delivered', label: 'is delivered' },
];

const mostPolls = 1_000_000;

function OutcomeForm({ add }: { readonly add: (outcome: Outcome) => Promise<void> }) {
  const to = useSignal('');
  const fate = useSignal('failed queued');
  const polls = useSignal('1');
  const sending = useSending(async () => {
    const [ends, where] = fate.value.split(' ');
    const { steps } = readFields({ steps: () => wholeNumber(polls.value, 1, mostPolls) });
    await add({
      to: to.value,
      ends,
      ...(where !== undefined && { in: where }),
      ...(steps !== 1 && { polls: steps }),
    } as Outcome);
    to.value = '';
  });
  return (
    <form class="row add" aria-label="Add a recipient" onSubmit={sending.onSubmit} noValidate>
      <TextField
        label="Recipient"
        type="tel"
        placeholder="+1202555017*"
        value={to.value}
        onType={(value) => {
          to.value = value;
        }}
        hint="* stands for any digits."
      />
      <Select label="Fate" value={fate.value} choices={fates} onChoose={(v) => (fate.value = v)} />
      <TextField
        label="Polls a step"
        inputmode="numeric"
        value={polls.value}
        onType={(value) => {
          polls.value = value;
        }}
        problem={sending.problem('steps')}
      />
      <button type="submit" class="button main">
        Add recipient
      </button>
      <Failure error={sending.error} />
    </form>
  );
}
