/**
 * Compares the reference of `docs/agents.md`, and `llms.txt`, with the declarations and the pages;
 * `npx vitest run verify/repository/agents-page.test.ts -u` writes them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandsOf, subcommands } from '#cli/subcommands.ts';
import { faultKinds } from '#contract/fault-kinds.ts';
import { documentedLimitsPerMinute, endpointNames } from '#contract/limits.ts';
import { refusals } from '#contract/refusals.ts';
import { routes } from '#contract/routes.ts';
import { clientRules } from '#contract/rules.ts';
import { operations } from '#src/operations/table.ts';
import { schemaFiles } from '../build/file-schemas.ts';
import { methodsOf, shownNouns } from '../build/methods.ts';
import { root } from '../testkit/doc-commands.ts';
import { callOf } from './methods-page.ts';

const page = join(root, 'docs/agents.md');

test('docs/agents.md has the reference of this version', async () => {
  const [tasks = ''] = readFileSync(page, 'utf8').split(/^## Reference$/m);
  await expect(`${tasks}## Reference\n\n${await referenceText()}`).toMatchFileSnapshot(page);
});

test('llms.txt names every page and schema', async () => {
  await expect(llmsText()).toMatchFileSnapshot(join(root, 'llms.txt'));
});

test('the page is short enough for the context of an agent: 6,000 words', () => {
  expect(readFileSync(page, 'utf8').split(/\s+/).length).toBeLessThan(6_000);
});

function table(head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const line = (cells: readonly unknown[]) =>
    `| ${cells.map((cell) => String(cell ?? '').replaceAll('|', '\\|')).join(' | ')} |\n`;
  return `${line(head)}${line(head.map(() => '---'))}${rows.map(line).join('')}`;
}

async function referenceText(): Promise<string> {
  const io = { out: () => {}, error: () => {}, env: {}, version: '' };
  const commands = await commandsOf(Object.keys(subcommands), io);
  const methods = new Map(
    shownNouns.flatMap(methodsOf).map((method) => [method.operation.name, callOf(method)]),
  );
  const sections = {
    'Commands of `npx smstwin`; `--help` lists the flags': table(
      ['command', 'does'],
      commands.map((command) => [`\`${command.name()}\``, command.description()]),
    ),
    'Endpoints of the service, their names, and requests a minute': table(
      ['name', 'request', 'limit'],
      endpointNames.map((name) => {
        const { method, pattern } = routes[name];
        return [
          `\`${name}\``,
          `${method} \`${pattern}\``,
          documentedLimitsPerMinute[name] ?? 'none',
        ];
      }),
    ),
    'Refusals of the service, spelled as it spells them': table(
      ['status', 'code', 'means'],
      Object.values(refusals)
        .filter(({ isDocumented }) => isDocumented)
        .map(({ status, code, detail }) => [status, shownCode(status, code), detail]),
    ),
    'Faults, as `fault.kind`; `explore --help` lists those of `explore`': table(
      ['kind', 'does'],
      Object.entries(faultKinds).map(([name, { about }]) => [`\`${name}\``, about]),
    ),
    'Rules of clients': table(
      ['rule', 'level', 'the client …'],
      clientRules.map(({ id, level, sentence }) => [id, level, sentence]),
    ),
    'Methods of a simulator, and the same on the control port': table(
      ['method', 'request', 'does'],
      operations.map(({ name, verb, path, summary }) => {
        const cells = [methods.get(name) ?? '', path === '' ? '' : `${verb} ${path}`];
        return [...cells.map((cell) => (cell === '' ? '' : `\`${cell}\``)), summary];
      }),
    ),
  };
  return Object.entries(sections)
    .map(([title, text]) => `### ${title}\n\n${text}`)
    .join('\n');
}

/** The code in the body of a refusal, as the document has it: it shows none for 404 and 429. */
function shownCode(status: number, code: string | undefined): string {
  if (status === 400) return "the field's name";
  return status === 404 ? 'none' : (code ?? 'none');
}

/** The page's title, and the first sentence below it. */
function entryOf(path: string): string {
  const [title = '', first = ''] = readFileSync(join(root, path), 'utf8')
    .replace(/^# /, '')
    .replaceAll(/^```.*?^```\n+/gms, '')
    .split(/\n\n(?!#)/);
  const [heading = ''] = title.split('\n');
  const [sentence = ''] = first.replaceAll('\n', ' ').split(/(?<=[.:?])\s/);
  const plain = sentence.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/:$/, '.');
  return `- [${heading}](${path}): ${plain}\n`;
}

function llmsText(): string {
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  const paths = docs.map((name) => `docs/${name}`).sort();
  const isFirst = (path: string) => /agents|start-/.test(path);
  const first = paths.filter(isFirst).map(entryOf).join('');
  const others = paths.filter((path) => !isFirst(path)).map(entryOf);
  const { description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly description: string;
  };
  return `# smstwin

> ${description}

In a project: \`npm i -D smstwin\` (or the file that \`npm pack\` makes in a checkout), then \`npx smstwin serve\`. In a checkout: \`npm ci && npm start\`. docs/agents.md alone answers what a coding agent usually needs:
starting, a test, faults, time, refusals, exploring, judging, conformance, recording, an audit, load. All paths are those of the package.

## Start here

${first}
## Pages

${others.join('')}
## Schemas

${schemaFiles.map((path) => `- [${path}](${path})\n`).join('')}`;
}
