/**
 * Generates `docs/scorecard.md` from the results of a run, the sources of the clients, and the
 * ledger of client rules.
 */
import { readFileSync } from 'node:fs';
import { clientRules } from '../../src/ledger/rules.ts';
import { type Library, libraries } from './catalogue.ts';
import { faults, messageCount, shownRules } from './faults.ts';
import type { Results } from './results.ts';
import type { Score } from './run.ts';

export function page({ versions, scores }: Results): string {
  const rows = libraries.flatMap((library) =>
    library.configurations.map((configuration) => ({
      name: `${library.name}, ${configuration}`,
      scores: scores.filter(
        (score) => score.library === library.name && score.configuration === configuration,
      ),
    })),
  );
  const faultNames = Object.keys(faults);
  return `${introduction}
## By fault

${table(
  ['', ...faultNames],
  rows.map((row) => [row.name, ...faultNames.map((fault) => faultCell(row.scores, fault))]),
)}

A number says how many messages the service accepted, where it is not ${messageCount}. **Bold**: a rule that a client must keep. Otherwise it is
advice. ✓: all ${messageCount} sent once, and nothing to say. CLIENT-4, which every default breaks, is left out here.

## By rule

${table(
  ['', ...shownRules.keys()],
  rows.map((row) => [row.name, ...[...shownRules.keys()].map((id) => ruleCell(row.scores, id))]),
)}

Of ${faultNames.length} faults, under how many the rule was broken. –: never exercised.

## What the document asks

${table(
  ['rule', 'level', 'the client', 'whose part'],
  clientRules
    .filter(({ id }) => shownRules.has(id))
    .map(({ id, level, sentence }) => [id, level, sentence, shownRules.get(id) ?? '']),
)}

All client rules: \`smstwin rules --client\`.

## The configurations

${libraries.map((library) => section(library, versions)).join('\n\n')}
`;
}

const introduction = `# Scorecard of retry libraries

How the default and the recommended configuration of each library keep the client rules while something goes wrong. The referee
(\`smstwin referee\`) is the judge. Made by \`npm run scorecard\`, which runs every client below in a process of its own against a
simulator at the same speed.

A program sends ${messageCount} messages, one after the other with a pause of two seconds, and reports each as accepted or failed; a fault meets the first.
*Default*: without options of its own, and with the fields that the document requires. *Recommended*: what the library's own
documentation offers for a POST that may be repeated and for a 429, at most four retries, a timeout of 20 seconds where it has one, and
a \`request_id\` for each message, which is always the program's own job.
`;

function faultCell(scores: readonly Score[], fault: string): string {
  const score = scores.find((one) => one.fault === fault);
  if (score === undefined) return '';
  const broken = Object.entries(score.verdicts)
    .filter(([id, verdict]) => id !== 'CLIENT-4' && verdict !== 'passed')
    .map(([id, verdict]) => (verdict === 'failed' ? `**${id}**` : id));
  const sent = score.accepted === messageCount ? [] : [`${score.accepted} sent`];
  return [...sent, ...broken].join(', ') || '✓';
}

function ruleCell(scores: readonly Score[], id: string): string {
  const verdicts = scores.flatMap((score) => score.verdicts[id] ?? []);
  const broken = verdicts.filter((verdict) => verdict !== 'passed');
  if (broken.length === 0) return verdicts.length === 0 ? '–' : '✓';
  return broken.includes('failed') ? `**${broken.length}**` : String(broken.length);
}

function section(library: Library, versions: Results['versions']): string {
  const { name, file, language, packages, says } = library;
  const own = packages.map((each) => `${each} ${versions[each]}`);
  const version = [...own, ...(language === 'Node' ? [`Node ${versions['node']}`] : [])].join(', ');
  const source = readFileSync(new URL(`./clients/${file}`, import.meta.url), 'utf8').trim();
  return `### ${name}

${version}. ${says}

\`\`\`${language === 'Node' ? 'ts' : 'python'}
${source}
\`\`\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
