/**
 * The rules of the document, with a search; beside them, the page lists the assumptions.
 */
import { rules } from '../../../ledger/rules.ts';
import type { Row } from '../lists.ts';
import { Rows } from '../parts/list.tsx';
import { CodeText } from '../parts/values.tsx';

const ruleList = { title: 'Rules', key: 'id', columns: ['id', 'sentence'], empty: '' };

export function Rules() {
  return (
    <section class="card" aria-label="Rules">
      <p class="dim">
        What the document states, and <code>smstwin conform</code> checks.
      </p>
      <Rows
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
