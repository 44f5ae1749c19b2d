/**
 * The page Rules and assumptions: the rules of the document, and the answers where it is silent,
 * which users can switch.
 */
import { useSignal } from '@preact/signals';
import { rules } from '../../../../conformance/rules.ts';
import { call } from '../control.ts';
import { CodeText } from '../parts/code-text.tsx';
import { SearchInput } from '../parts/fields.tsx';
import { Failure, Loading } from '../parts/notices.tsx';
import { useResource } from '../resource.ts';
import type { AssumptionValue, LedgerEntry } from '../wire.ts';
import { AssumptionInput, asText } from './assumption-input.tsx';

type Answers = Readonly<Record<string, AssumptionValue>>;

export function RulesAndAssumptionsPage() {
  const search = useSignal('');
  const lower = search.value.toLowerCase();
  return (
    <div class="stack">
      <search class="filters">
        <SearchInput label="Search rules and assumptions" of={search} />
      </search>
      <AssumptionList search={lower} />
      <RuleList search={lower} />
    </div>
  );
}

function AssumptionList({ search }: { readonly search: string }) {
  const ledger = useResource(() => call('assumptions.ledger'), {});
  const answers = useResource(() => call('assumptions.get'), {
    on: ['clock'],
    everyMs: 5_000,
  });
  const entries = ledger.value?.assumptions;
  const now: Answers | undefined = answers.value;
  if (entries === undefined || now === undefined) {
    const error = ledger.error ?? answers.error;
    return error === undefined ? <Loading what="assumptions" /> : <Failure error={error} />;
  }
  const switchTo = async (name: string, value: AssumptionValue) => {
    await call('assumptions.patch', { [name]: value });
    answers.refresh();
  };
  const changed = entries.filter((entry) => !isDefault(entry, now));
  const shown = entries.filter(({ name, open }) =>
    `${name} ${open}`.toLowerCase().includes(search),
  );
  return (
    <section class="card" aria-labelledby="assumptions-title">
      <h2 id="assumptions-title">Assumptions</h2>
      <p class="dim lead">
        What the document leaves open. {changed.length === 0 ? 'All' : `All but ${changed.length}`}{' '}
        of {entries.length} are at their default; a switch holds from now on.
      </p>
      <ul class="ledger">
        {shown.map((entry) => (
          <li key={entry.name} class={isDefault(entry, now) ? '' : 'changed'}>
            <div>
              <p class="mono name">
                {entry.name}
                {!isDefault(entry, now) && (
                  <span class="badge status-sending">
                    not the default ({asText(entry.default)})
                  </span>
                )}
              </p>
              <p class="dim">
                <CodeText text={entry.open} />
              </p>
            </div>
            <AssumptionInput
              entry={entry}
              value={now[entry.name] ?? entry.default}
              onSwitch={(value) => switchTo(entry.name, value)}
            />
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p class="dim">No assumption matches.</p>}
    </section>
  );
}

function isDefault(entry: LedgerEntry, now: Answers): boolean {
  return asText(now[entry.name] ?? entry.default) === asText(entry.default);
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
      {shown.length === 0 && <p class="dim">No rule fits.</p>}
    </section>
  );
}
