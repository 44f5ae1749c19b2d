/** The rows of `contenders.yaml`, which `npm run compare` installs and starts. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const textOf = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const text = textOf('contenders.yaml');
const rows = parse(text) as readonly { readonly name: string; readonly spec: string }[];

test('each server has an exact version, so that a table can be repeated', () => {
  const specs = rows.map(({ spec }) => spec).filter((spec) => spec !== '%packed%');
  expect(specs).toHaveLength(5);
  for (const spec of specs) expect(spec).toMatch(/^@?[\w/-]+@\d+\.\d+\.\d+$/);
});

test('each placeholder is filled, and each value is used', () => {
  const used = new Set([...text.matchAll(/%(\w+)%/g)].map(([, name]) => name));
  const returned = /return \{ packed, queued, read, \.\.\.texts, \.\.\.files \}/;
  const program = textOf('compare.ts');
  expect(program).toMatch(returned);
  const filled = [...program.matchAll(/\b(queued_text|read_text|world|openapi): JSON/g)];
  const names = ['packed', 'port', 'queued', 'read', ...filled.map(([, name]) => name)];
  expect([...used].sort()).toEqual(names.sort());
});

test('each server that starts by itself listens on this machine alone', () => {
  const express = "'127.0.0.1'";
  for (const mark of [
    express,
    "host: '127.0.0.1'",
    '"hostname": "127.0.0.1"',
    '--bind-address, 127.0.0.1',
  ])
    expect(text).toContain(mark);
});
