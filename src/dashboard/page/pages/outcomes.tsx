/**
 * The scripted recipients: the fate of messages to each, their number, and a form to add one.
 */
import { useSignal } from '@preact/signals';
import { call } from '../control.ts';
import { useSending } from '../form.ts';
import { readFields, wholeNumber } from '../numbers.ts';
import { Action } from '../parts/action.tsx';
import { Select, Submit, TextField } from '../parts/fields.tsx';
import { Failure, Loaded } from '../parts/notices.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useResource } from '../resource.ts';
import type { Outcome } from '../wire.ts';

interface Scripts {
  readonly outcomes: readonly Outcome[];
  readonly hits: readonly number[];
}

export function OutcomesPanel() {
  const scripts = useResource(readScripts, { on: ['message', 'clock'], everyMs: 5_000 });
  const put = async (outcomes: readonly Outcome[]) => {
    await call('outcomes.put', { outcomes });
    scripts.refresh();
  };
  return (
    <section class="card" aria-labelledby="outcomes-title">
      <h2 id="outcomes-title">Scripted recipients</h2>
      <Loaded of={scripts} what="scripted recipients">
        {({ outcomes, hits }) => (
          <>
            <OutcomeTable outcomes={outcomes} hits={hits} put={put} />
            <OutcomeForm add={(outcome) => put([outcome, ...outcomes])} />
          </>
        )}
      </Loaded>
    </section>
  );
}

async function readScripts(): Promise<Scripts> {
  const [{ outcomes }, { hits }] = await Promise.all([call('outcomes.get'), call('outcomes.hits')]);
  return { outcomes, hits };
}

interface OutcomeTableProps extends Scripts {
  readonly put: (outcomes: readonly Outcome[]) => Promise<void>;
}

function OutcomeTable({ outcomes, hits, put }: OutcomeTableProps) {
  const columns: readonly Column<Outcome>[] = [
    { head: 'Recipient', cell: ({ to }) => to, cellKind: 'mono', namesRow: true },
    { head: 'Fate', cell: fateText },
    { head: 'Messages', cell: (one) => hits[outcomes.indexOf(one)] ?? 0, kind: 'number' },
    {
      head: 'Operations',
      cell: (outcome) =>
        isFixed(outcome.to) ? (
          <span class="dim">fixed</span>
        ) : (
          <Action
            act={() => put(outcomes.filter((one) => one !== outcome))}
            label={`Remove ${outcome.to}`}
          >
            Remove
          </Action>
        ),
      kind: 'last',
      isHeadHidden: true,
    },
  ];
  return (
    <Table label="Scripted recipients" columns={columns} rows={outcomes} keyOf={({ to }) => to} />
  );
}

/** True for the outcomes that every world has: they reappear after removal. */
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
        of={to}
        hint="* stands for any digits."
      />
      <Select label="Fate" of={fate} choices={fates} />
      <TextField
        label="Polls a step"
        inputmode="numeric"
        of={polls}
        problem={sending.problem('steps')}
      />
      <Submit>Add recipient</Submit>
      <Failure error={sending.error} />
    </form>
  );
}
