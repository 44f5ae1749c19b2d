/**
 * The rules that the document states, with a search; part of the page Rules and assumptions, whose
 * list of assumptions `page/lists.ts` declares.
 */
import { rules } from '#contract/rules.ts';
import type { Row } from '../list-declaration.ts';
import { SearchableTable } from '../parts/list.tsx';
import { CodeText } from '../parts/values.tsx';

const ruleList = { title: 'Rules', keyColumn: 'id', columns: ['id', 'sentence'], emptyText: '' };

export function Rules() {
  return (
    <section class="card" aria-label="Rules">
      <p class="dim">
        What the document states, and <code>smstwin conform</code> checks.
      </p>
      <SearchableTable
        declaration={ruleList}
        rows={rules as unknown as readonly Row[]}
        columns={[
          { head: 'Rule', cell: ({ id }) => String(id), kind: 'mono', namesRow: true },
          { head: 'Sentence', cell: ({ sentence }) => <CodeText text={String(sentence)} /> },
        ]}
      />
    </section>
  );
}
