/**
 * Compares `docs/assumptions.md` with the declarations; `npx vitest run
 * verify/repository/assumptions-page.test.ts -u` rewrites it.
 */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type AssumptionName, answersOf, declarationOf, parts } from '#contract/assumptions.ts';
import { assumptionLedger } from '#src/sim/assumptions.ts';

test('docs/assumptions.md says what each answer does', async () => {
  const page = fileURLToPath(new URL('../../docs/assumptions.md', import.meta.url));
  await expect(pageText()).toMatchFileSnapshot(page);
});

const opening = `# Assumptions

Where \`service-interface.md\` is silent, the simulator must still do something. Each such gap has a name, a default
and the other answers that a real service might give. This page says what each answer does, and why the default is the
default. How the answers work together, step by step, is in [semantics.md](semantics.md).

Switch one with \`--assume name=value\`, several with \`--assumptions FILE\` or the \`assumptions\` of a world file.
\`smstwin assumptions\` prints the list. The harness never judges an assumption: it reports what a target did as _observed_,
and \`conform --discover FILE\` writes those observations as a file that \`--assumptions\` reads.

The default is the first answer of each list. This page is generated from the declarations in \`contract/assumptions/\`.
`;

function pageText(): string {
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
