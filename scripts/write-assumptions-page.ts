/**
 * Writes `docs/assumptions.md` from the declarations: `npx tsx scripts/write-assumptions-page.ts`.
 * A test checks that the page is current.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type AssumptionName, answersOf, declarationOf, parts } from '../src/ledger/assumptions.ts';
import { assumptionLedger } from '../src/sim/assumptions.ts';

const opening = `# Assumptions

Where \`service-interface.md\` is silent, the simulator must still do something. Each such gap has a name, a default
and the other answers that a real service might give. This page says what each answer does, and why the default is the
default. How the answers work together, step by step, is in [semantics.md](semantics.md).

Switch one with \`--assume name=value\`, several with \`--assumptions FILE\` or the \`assumptions\` of a world file.
\`smstwin assumptions\` prints the list. The harness never judges an assumption: it reports what a target did as _observed_,
and \`conform --discover FILE\` writes those observations as a file that \`--assumptions\` reads.

The default is the first answer of each list. This page is generated from the declarations in \`src/ledger/\`.
`;

export const assumptionsPage = new URL('../docs/assumptions.md', import.meta.url);

export function assumptionsPageText(): string {
  const sections = Object.entries(parts).map(([title, declarations]) => {
    const names = Object.keys(declarations) as AssumptionName[];
    return `\n## ${title}\n${names.map(sectionOf).join('')}`;
  });
  return `${opening}${sections.join('')}`;
}

function sectionOf(name: AssumptionName): string {
  const { open, note, answers, why, rules } = declarationOf(name);
  const { default: fallback, alsoAccepts } = assumptionLedger[name];
  const list = [
    ...answersOf(name).map((answer) => `- \`${answer}\`: ${answers[answer]}`),
    ...(alsoAccepts === undefined ? [] : [`- ${alsoAccepts}.`]),
  ];
  const isPlain = typeof fallback !== 'object' || Array.isArray(fallback);
  const reason = isPlain ? `Why \`${String(fallback)}\`` : 'Why none';
  const question = `${open.charAt(0).toUpperCase()}${open.slice(1)}. Touches ${rules.join(', ')}.`;
  const paragraphs = [question, note, list.join('\n'), `${reason}: ${why}`];
  return `\n### ${name}\n\n${paragraphs.filter((text) => text !== undefined).join('\n\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(assumptionsPage, assumptionsPageText());
