/** The catalogue covers every client rule, and its page and its programs are in step with it. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientRules } from '../../src/referee/client-rules.ts';
import { catalogue } from './catalogue.ts';
import { readme } from './readme.ts';

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const namesOf = (language: string) =>
  catalogue.filter((client) => client.language === language).map(({ name }) => name);

test('every client rule has a wrong client in Node, and one in another language', () => {
  const broken = (isNode: boolean) =>
    new Set<unknown>(
      catalogue.filter(({ language }) => (language === 'Node') === isNode).map(({ rule }) => rule),
    );
  expect(clientRules.filter(({ id }) => !broken(true).has(id) || !broken(false).has(id))).toEqual(
    [],
  );
});

test('there are at least 60 wrong clients and 25 right ones, each with a name of its own', () => {
  const wrong = catalogue.filter(({ rule }) => rule !== undefined).length;
  const right = catalogue.length - wrong;
  expect(wrong).toBeGreaterThanOrEqual(60);
  expect(right).toBeGreaterThanOrEqual(25);
  expect(textOf('../README.md')).toContain(`${wrong} wrong clients`);
  expect(textOf('../README.md')).toContain(`${right} right ones`);
  expect(new Set(catalogue.map(({ name }) => name)).size).toBe(catalogue.length);
});

test('the page shows the catalogue', () => {
  expect(textOf('README.md')).toBe(readme());
});

test('the catalogue and the Python programs have the same names', () => {
  const programs = readdirSync(new URL('python/', import.meta.url))
    .filter((name) => name.endsWith('_clients.py'))
    .flatMap((name) => [...textOf(`python/${name}`).matchAll(/^@client\("(.+)"\)$/gm)])
    .map(([, name]) => name);
  expect(programs.sort()).toEqual(namesOf('Python').sort());
});

test('each shell client of the catalogue has its program', () => {
  const script = textOf('shell/clients.sh');
  expect(namesOf('shell').filter((name) => !script.includes(`\n${name}() {`))).toEqual([]);
});
