/**
 * The page Rules and assumptions: what the document states about the service and asks of clients,
 * with a search, and what it leaves open, with the answers in force. `#/rules/SEND-4` shows one.
 */
import { clientRules, rules } from '#contract/rules.ts';
import { assumptionList } from '../lists.ts';
import { List, SearchableTable } from '../parts/list.tsx';
import { CodeText } from '../parts/values.tsx';
import { addressOf } from '../route.ts';

const allRules = [
  ...rules.map(({ id, sentence }) => ({ id: String(id), sentence: String(sentence), level: '' })),
  ...clientRules.map(({ id, sentence, level }) => ({
    id,
    sentence: `The client ${sentence}`,
    level: level === 'must' ? 'must' : 'should: advice',
  })),
];

export function Rules() {
  return (
    <div class="stack">
      <section class="card" aria-label="Rules">
        <p class="dim">
          What the document states, and <code>smstwin conform</code> checks; what it asks of
          clients, and the <a href="#/referee">referee</a> judges.
        </p>
        <SearchableTable
          title="Rules"
          emptyText=""
          rows={allRules}
          keyOf={({ id }) => id}
          searched={({ id, sentence }) => [id, sentence]}
          columns={[
            {
              head: 'Rule',
              cell: ({ id }) => <a href={addressOf('rules', id)}>{id}</a>,
              kind: 'mono',
              namesRow: true,
            },
            { head: 'Sentence', cell: ({ sentence }) => <CodeText text={sentence} /> },
            { head: 'Level', cell: ({ level }) => level, kind: 'wide' },
          ]}
        />
      </section>
      <List declaration={assumptionList} />
    </div>
  );
}
