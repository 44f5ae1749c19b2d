/**
 * The page Rules and assumptions: the rules of the document, and the answers where it is silent,
 * which users can switch.
 */
import { useSignal } from '@preact/signals';
import { rules } from '../../../ledger/rules.ts';
import { call } from '../control.ts';
import { declared } from '../declared.ts';
import { type Field, textOf } from '../field.ts';
import { CodeText } from '../parts/code-text.tsx';
import { SearchInput } from '../parts/fields.tsx';
import { CellInput } from '../parts/list.tsx';
import { Loaded } from '../parts/notices.tsx';
import { useResource } from '../resource.ts';
import type { LedgerEntry } from '../wire.ts';

type Answers = Readonly<Record<string, unknown>>;

export function RulesAndAssumptionsPage() {
  const search = useSignal('');
  const lower = search.value.toLowerCase();
  return (
    <div class="stack">
      <search class="filters">
        <SearchInput
          label="Search rules and assumptions"
          value={search.value}
          onType={(text) => {
            search.value = text;
          }}
        />
      </search>
      <AssumptionList search={lower} />
      <RuleList search={lower} />
    </div>
  );
}

async function readAssumptions(): Promise<{ entries: readonly LedgerEntry[]; now: Answers }> {
  const [{ assumptions }, now] = await Promise.all([
    call('assumptions.ledger'),
    call('assumptions.get'),
  ]);
  return { entries: assumptions, now };
}

function AssumptionList({ search }: { readonly search: string }) {
  const answers = useResource(readAssumptions, { on: ['clock'], everyMs: 5_000 });
  const switchTo = (name: string) => async (value: unknown) => {
    await call('assumptions.patch', { [name]: value });
    answers.refresh();
  };
  return (
    <section class="card" aria-labelledby="assumptions-title">
      <h2 id="assumptions-title">Assumptions</h2>
      <Loaded of={answers} what="assumptions">
        {({ entries, now }) => {
          const changed = entries.filter((entry) => !isDefault(entry, now)).length;
          const shown = entries.filter(({ name, open }) =>
            `${name} ${open}`.toLowerCase().includes(search),
          );
          return (
            <>
              <p class="dim lead">
                What the document leaves open. {changed === 0 ? 'All' : `All but ${changed}`} of{' '}
                {entries.length} are at their default; a change applies from now on.
              </p>
              <ul class="ledger">
                {shown.map((entry) => (
                  <Entry key={entry.name} entry={entry} now={now} onSwitch={switchTo(entry.name)} />
                ))}
              </ul>
              {shown.length === 0 && <p class="dim">No assumption matches.</p>}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

interface EntryProps {
  readonly entry: LedgerEntry;
  readonly now: Answers;
  readonly onSwitch: (value: unknown) => Promise<void>;
}

function Entry({ entry, now, onSwitch }: EntryProps) {
  const { name, open } = entry;
  const isSame = isDefault(entry, now);
  return (
    <li class={isSame ? '' : 'changed'}>
      <div>
        <p class="mono name">
          {name}
          {!isSame && (
            <span class="badge status-sending">not the default ({textOf(entry.default)})</span>
          )}
        </p>
        <p class="dim">
          <CodeText text={open} />
        </p>
      </div>
      <div>
        <CellInput
          field={fieldOf(entry)}
          label={name}
          value={now[name] ?? entry.default}
          onChange={onSwitch}
        />
        {fieldOf(entry).kind !== 'choice' && <p class="hint">{entry.permitted}</p>}
      </div>
    </li>
  );
}

function fieldOf({ name }: LedgerEntry): Field {
  const field = declared['assumptions.patch'].input?.find((each) => each.name === name);
  return field ?? { name, kind: 'text' };
}

function isDefault(entry: LedgerEntry, now: Answers): boolean {
  return textOf(now[entry.name] ?? entry.default) === textOf(entry.default);
}

function RuleList({ search }: { readonly search: string }) {
  const shown = rules.filter(({ id, sentence }) =>
    `${id} ${sentence}`.toLowerCase().includes(search),
  );
  return (
    <section class="card" aria-labelledby="rules-title">
      <h2 id="rules-title">Rules</h2>
      <p class="dim lead">
        What the document states, and <code>smstwin conform</code> checks.
      </p>
      <dl class="rules">
        {shown.map(({ id, sentence }) => (
          <div key={id}>
            <dt class="mono">{id}</dt>
            <dd>
              <CodeText text={sentence} />
            </dd>
          </div>
        ))}
      </dl>
      {shown.length === 0 && <p class="dim">No rule matches.</p>}
    </section>
  );
}
