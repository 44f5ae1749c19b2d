/** The catalogue covers every client rule, and its programs are in step with it. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientRules } from '#contract/rules.ts';
import { foreignClients, nodeClients } from './catalogue.ts';
import type { ClientRow } from './client.ts';
import { pythonClients, shellClients } from './foreign-clients.ts';

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const all: readonly ClientRow[] = [...nodeClients, ...foreignClients];
const wrong = all.filter(({ rule }) => rule !== undefined);

test.each([
  ['in Node', nodeClients],
  ['in another language', foreignClients],
])('every client rule has a wrong client %s', (_, clients) => {
  const broken = new Set<unknown>(clients.map(({ rule }) => rule));
  expect(clientRules.filter(({ id }) => !broken.has(id))).toEqual([]);
});

test('every library has a right client and a wrong one, each client a name of its own', () => {
  const librariesOf = (clients: readonly ClientRow[]) =>
    [...new Set(clients.map(({ library }) => library))]
      .filter((library) => !library.startsWith('node:'))
      .sort();
  const right = all.filter(({ rule }) => rule === undefined);
  expect(librariesOf(wrong)).toEqual(librariesOf(right));
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
});

test('verify/README.md states how many clients there are', () => {
  const page = textOf('../README.md');
  expect(page).toContain(`${wrong.length} wrong clients`);
  expect(page).toContain(`${all.length - wrong.length} right ones`);
});

test('each foreign client has its program', () => {
  const programs = readdirSync(new URL('python/', import.meta.url))
    .filter((name) => name.endsWith('_clients.py'))
    .flatMap((name) => [...textOf(`python/${name}`).matchAll(/^@client\("(.+)"\)$/gm)])
    .map(([, name]) => name);
  expect(programs.sort()).toEqual(pythonClients.map(({ name }) => name).sort());
  const functions = [...textOf('shell/clients.sh').matchAll(/^((?:curl|wget)_\w+)\(\) \{$/gm)];
  expect(functions.map(([, name]) => name).sort()).toEqual(
    shellClients.map(({ name }) => name).sort(),
  );
});
