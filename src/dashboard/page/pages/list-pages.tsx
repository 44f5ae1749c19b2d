/**
 * The pages that are lists of declared objects.
 */
import { pageOf, shownWorld } from '../hosted-world.ts';
import {
  accountList,
  faultList,
  keyList,
  type ListDeclaration,
  outcomeList,
  type Row,
  receivedList,
  simList,
  worldList,
} from '../lists.ts';
import { List } from '../parts/list.tsx';
import type { OperationName } from '../wire.ts';

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

export function WorldsPage() {
  const link = ({ world_id: id }: Row) =>
    id === shownWorld ? undefined : pageOf(String(id), '#/home');
  const leave = (operation: OperationName, { world_id: id }: Row) => {
    if (operation === 'worlds.delete' && id === shownWorld) location.assign(pageOf('default'));
  };
  return (
    <div class="stack">
      <List of={worldList} link={link} onAct={leave} />
    </div>
  );
}
