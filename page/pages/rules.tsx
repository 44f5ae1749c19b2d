/**
 * The page Rules and assumptions: what the document states about the service and asks of clients,
 * with a search, and what it leaves open, with the answers in force. `#/rules/SEND-4` shows one.
 */
import { clientRules, rules } from '#contract/rules.ts';
import { assumptionList } from '../lists.ts';
import { SearchInput } from '../parts/fields.tsx';
import { List } from '../parts/list.tsx';
import { type Column, TableCard } from '../parts/table.tsx';
import { CodeText } from '../parts/values.tsx';
import { addressOf } from '../route.ts';

/** The id of a rule, with a link to its sentence. */
export const ruleColumn: Column<{ readonly id: string }> = {
  head: 'Rule',
  cell: ({ id }) => <a href={addressOf('rules', id)}>{id}</a>,
  class: 'mono',
  namesRow: true,
};

const allRules = [
  ...rules.map(({ id, sentence }) => ({ id: String(id), sentence: String(sentence), level: '' })),
  ...clientRules.map(({ id, sentence, level }) => ({
    id,
    sentence: `The client ${sentence}`,
    level: level === 'must' ? 'must' : 'should: advice',
  })),
];

/** What a rule asks, without what the judge makes of it. */
export function ruleText(id: string) {
  const { sentence = '' } = allRules.find((rule) => rule.id === id) ?? {};
  return <CodeText text={sentence.replace(/(?<=\.)\s.*$/s, '')} />;
}

export function RulesPage() {
  return (
    <div class="stack">
      <search class="filters">
        <SearchInput name="search" label="Search rules and assumptions" />
      </search>
      <TableCard
        title="Rules"
        lead="What the document states, and smstwin conform checks; what it asks of clients, and the referee judges."
        resource={{ value: allRules }}
        keyOf={({ id }) => id}
        searchedBy="search"
        searched={({ id, sentence }) => [id, sentence]}
        columns={[
          ruleColumn,
          { head: 'Sentence', cell: ({ sentence }) => <CodeText text={sentence} /> },
          { head: 'Level', cell: ({ level }) => level, class: 'wide' },
        ]}
      />
      <List declaration={assumptionList} />
    </div>
  );
}
