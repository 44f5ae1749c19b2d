/**
 * The pages that speak of faults name every kind, and say of each what its row in
 * `contract/fault-kinds.ts` says.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { faultKindNames, faultKinds } from '#contract/fault-kinds.ts';
import { faultNames } from '#contract/fault-schedule.ts';
import { root } from './modules.ts';

const page = (name: string) => readFileSync(join(root, 'docs', name), 'utf8');
const quoted = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);

test.each(faultKindNames)('docs/control-api.md says what the fault %s does', (kind) => {
  const [, kinds = ''] = /^- `fault\.kind`:([\s\S]*?)^- /m.exec(page('control-api.md')) ?? [];
  expect(kinds).toContain(`\`${kind}\` (`);
});

test('docs/traffic.md says which faults reach the service', () => {
  const [, reach = '', others = ''] =
    /^(.*) reach the service, .*?; (.*) do\nnot\./m.exec(page('traffic.md')) ?? [];
  const isNamed = (kind: (typeof faultKindNames)[number]) => faultKinds[kind].reply !== 'late';
  const ofTable = (isHandled: boolean) =>
    faultKindNames.filter((kind) => isNamed(kind) && faultKinds[kind].isHandled === isHandled);
  expect(quoted(reach).sort()).toEqual(ofTable(true).sort());
  expect(quoted(others).sort()).toEqual(ofTable(false).sort());
});

test("docs/explore.md has a row for each of the explorer's faults, from the weakest on", () => {
  const [, section = ''] =
    /^## Faults\n([\s\S]*?)^Each fault is weaker/m.exec(page('explore.md')) ?? [];
  const rows = section.split('\n').map((line) => line.split('|')[1] ?? '');
  expect(rows.flatMap(quoted)).toEqual(faultNames);
});
