/** Which variables `SMSTWIN_*` are ignored, and what is said about them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { everything, root } from '#verify/repository/modules.ts';
import { newIo } from '#verify/testkit/io-fixture.ts';
import { ignoredVariables, otherVariables } from './subcommands.ts';

function ignored(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  return ignoredVariables('serve', { ...newIo().io, env });
}

test.each([
  ['SMSTWIN_PROT', ' (did you mean SMSTWIN_PORT?)'],
  ['SMSTWIN_CONTROLPORT', ' (did you mean SMSTWIN_CONTROL_PORT?)'],
  ['SMSTWIN_LIMITS', ' (did you mean SMSTWIN_LIMIT?)'],
  ['SMSTWIN_No_Control', ' (did you mean SMSTWIN_NO_CONTROL?)'],
  ['smstwin_port', ' (did you mean SMSTWIN_PORT?)'],
  ['SMSTWIN_UNHEARD_OF_NAME', ''],
])('%s is ignored with one line that names what was meant', async (name, hint) => {
  expect(await ignored({ [name]: '1' })).toEqual([`${name}: ignored; no flag has it${hint}`]);
});

test('what Kubernetes sets for a service called smstwin is ignored with one line', async () => {
  const names = [
    'SMSTWIN_SERVICE_HOST',
    'SMSTWIN_SERVICE_PORT',
    'SMSTWIN_SERVICE_PORT_HTTP',
    'SMSTWIN_PORT_8080_TCP',
    'SMSTWIN_PORT_8080_TCP_ADDR',
    'SMSTWIN_PORT_8080_TCP_PROTO',
    'SMSTWIN_CONTROL_SERVICE_HOST',
    'SMSTWIN_CONTROL_PORT_8081_TCP_PORT',
  ];
  expect(await ignored(Object.fromEntries(names.map((name) => [name, '1'])))).toEqual([
    `${names.join(', ')}: ignored; Kubernetes and Docker set such variables for services`,
  ]);
});

test('flags of any command, empty variables and other programs are left alone', async () => {
  const variables = {
    SMSTWIN_PORT: '1',
    SMSTWIN_SHARDS: '2',
    SMSTWIN_HELD: '3',
    SMSTWIN_GRACE: '1s',
  };
  expect(await ignored({ ...variables, SMSTWIN_PROT: '', SMSTW: 'x', PATH: '/' })).toEqual([]);
});

/** The text of all files, in which a name that another program uses begins with a small letter. */
const text = [
  ...everything.map((file) => file.text),
  readFileSync(join(root, 'action.yml'), 'utf8'),
]
  .join('\n')
  .replace(/smstwin_\w+/g, '');
const named = new Set(text.match(/\bSMSTWIN_[A-Z][A-Z_]*[A-Z]\b/g));

test('every variable that our files name is known', async () => {
  const misspelt = ['PROT', 'CONTROLPORT', 'LIMITS', 'UNHEARD_OF_NAME', 'JSN'];
  const rightlySpelt = [...named].filter(
    (name) => !misspelt.includes(name.slice('SMSTWIN_'.length)),
  );
  const lines = await ignored(Object.fromEntries(rightlySpelt.map((name) => [name, '1'])));
  expect(lines.filter((line) => !line.includes('for services'))).toEqual([]);
});

test('every variable that sets no flag is read by one of our files', () => {
  expect(otherVariables.filter((name) => !named.has(name))).toEqual([]);
});
