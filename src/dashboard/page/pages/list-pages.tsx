/**
 * The pages that are lists: of declared objects, and of the rules.
 */
import { rules } from '../../../ledger/rules.ts';
import { pageOf, shownWorld } from '../hosted-world.ts';
import {
  accountList,
  assumptionList,
  faultList,
  keyList,
  type ListDeclaration,
  outcomeList,
  type Row,
  receivedList,
  simList,
  worldList,
} from '../lists.ts';
import { List, Rows } from '../parts/list.tsx';
import { CodeText } from '../parts/values.tsx';
import type { OperationName } from '../wire.ts';
import { Compare } from './compare.tsx';

function pageWith(...lists: readonly ListDeclaration[]) {
  return () => (
    <div class="stack">
      {lists.map((list) => (
        <List key={list.title} of={list} />
      ))}
    </div>
  );
}

export const AccountsPage = pageWith(accountList);
export const SimsPage = pageWith(simList);
export const KeysPage = pageWith(keyList);
export const ReceivedPage = pageWith(receivedList);
export const FaultsPage = pageWith(faultList, outcomeList);

const ruleList = { title: 'Rules', key: 'id', columns: ['id', 'sentence'], empty: '' };

export function RulesAndAssumptionsPage() {
  return (
    <div class="stack">
      <List of={assumptionList} />
      <section class="card" aria-label="Rules">
        <p class="dim">
          What the document states, and <code>smstwin conform</code> checks.
        </p>
        <Rows
          of={ruleList}
          rows={rules as unknown as readonly Row[]}
          columns={[
            { head: 'Rule', cell: ({ id }) => String(id), kind: 'mono', namesRow: true },
            { head: 'Sentence', cell: ({ sentence }) => <CodeText text={String(sentence)} /> },
          ]}
        />
      </section>
    </div>
  );
}

export function WorldsPage() {
  const link = ({ world_id: id }: Row) =>
    id === shownWorld ? undefined : pageOf(String(id), '#/home');
  const leave = (operation: OperationName, { world_id: id }: Row) => {
    if (operation === 'worlds.delete' && id === shownWorld) location.assign(pageOf('default'));
  };
  return (
    <div class="stack">
      <List of={worldList} link={link} onAct={leave} />
      <Compare />
    </div>
  );
}
