/**
 * All clients: wrong ones, each of which breaks one rule as a real client would, and right ones
 * that look odd. The comment above each program in another language is its row.
 */
import { readFileSync } from 'node:fs';
import { clientRules } from '#contract/rules.ts';
import type { ClientRow, NodeClient, Trouble } from './client.ts';
import { rightIdentities } from './node/right-identities.ts';
import { rightLibraries } from './node/right-libraries.ts';
import { rightSenders } from './node/right-senders.ts';
import { wrongContents } from './node/wrong-contents.ts';
import { wrongWaits } from './node/wrong-waits.ts';

export const nodeClients: readonly NodeClient[] = [
  ...wrongWaits,
  ...wrongContents,
  ...rightSenders,
  ...rightIdentities,
  ...rightLibraries,
];

/** The comment above a program in another language, and the program's name. */
const row =
  /^# (?:right|(?<rule>CLIENT-\d+)(?:, also (?<also>[\w -]+))?(?:, meets (?<meets>[\w ]+))?): .+\n(?:def )?(?<name>(?<library>[a-z0-9]+)_\w+)\(\)/gm;

export const pythonClients = rowsOf('python/clients.py');
export const shellClients = rowsOf('shell/clients.sh');

function rowsOf(path: string): readonly ClientRow[] {
  const text = readFileSync(new URL(path, import.meta.url), 'utf8');
  return [...text.matchAll(row)].map(({ groups = {} }) => {
    const { name = '', library = '', rule, also = '', meets = '' } = groups;
    const [clientRule] = clientRules.filter(({ id }) => id === rule);
    return {
      name,
      library,
      ...(clientRule !== undefined && { rule: clientRule.id }),
      also: clientRules.map(({ id }) => id).filter((id) => also.split(' ').includes(id)),
      meets: meets.split(' ').filter((trouble) => trouble !== '') as Trouble[],
    };
  });
}
