/** The catalogue covers every client rule, and its programs are in step with it. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientRules } from '#contract/rules.ts';
import { nodeClients, pythonClients, shellClients } from './catalogue.ts';
import type { ClientRow } from './client.ts';

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const all: readonly ClientRow[] = [...nodeClients, ...pythonClients, ...shellClients];
const wrong = all.filter(({ rule }) => rule !== undefined);

test('every client rule has a wrong client in Node', () => {
  const broken = new Set<unknown>(nodeClients.map(({ rule }) => rule));
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

test.each([
  ['python/clients.py', pythonClients],
  ['shell/clients.sh', shellClients],
])('each program of %s has its row', (path, clients) => {
  const program = /^(?:def )?((?:urllib3?|requests|tenacity|httpx|curl|wget)_\w+)\(\)/gm;
  const programs = [...textOf(path).matchAll(program)].map(([, name]) => name);
  expect(clients.map(({ name }) => name)).toEqual(programs);
});
