/**
 * The page of every HTML report: one file with its stylesheet, for light and dark mode and for any
 * width; without scripts, except what draws plots. First come facts and counts, then findings with
 * links to their details, then the sections of the report.
 */
import { pageFiles } from '#io/shipped-files.ts';
import { escapeMarkup } from './summary.ts';

export interface PageLink {
  readonly label: string;
  /** The class in the stylesheet, such as a verdict. */
  readonly tone: string;
  /** The id of an element of the page. */
  readonly to?: string;
  readonly note?: string;
}

export interface Page {
  readonly title: string;
  /** What the report is about, and figures of the whole run. */
  readonly facts: readonly string[];
  /** Sentences that a reader must know before the rest. */
  readonly warnings: readonly string[];
  readonly counts: readonly PageLink[];
  readonly findings: readonly PageFinding[];
  /** The sections, as HTML. */
  readonly body: string;
}

/** A failure, a notice or a crossed threshold. `also`: others of the same cause. */
export interface PageFinding extends PageLink {
  readonly also?: readonly PageLink[];
}

export function pageHtml({ title, facts, warnings, counts, findings, body }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeMarkup(title)} of ${escapeMarkup(facts[0] ?? '')}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${escapeMarkup(title)}</h1>
<p>${facts.map(escapeMarkup).join(' · ')}</p>
${warnings.map((line) => `<p><strong>${escapeMarkup(line)}</strong></p>`).join('\n')}
<ul class="counts">${counts.map((count) => `<li>${linkTo(count)}</li>`).join('')}</ul>
</header>
<main>
${findings.length === 0 ? '' : `<h2>Findings</h2>\n<ul>${findings.map(findingHtml).join('\n')}</ul>`}
${body}
</main>
</body>
</html>
`;
}

/** A longer list is closed at first. */
const mostOpen = 8;

function findingHtml({ also = [], ...link }: PageFinding): string {
  const items = also.map((other) => `<li>${linkTo(other)}</li>`);
  const list = `<ul>${items.join('')}</ul>`;
  const more =
    items.length > mostOpen
      ? `<details><summary>${items.length} more lines</summary>${list}</details>`
      : list;
  return `<li>${linkTo(link)}${items.length === 0 ? '' : more}</li>`;
}

function linkTo({ label, tone, to, note = '' }: PageLink): string {
  const shown = `${badge(tone)} ${escapeMarkup(label)}`;
  const link = to === undefined ? shown : `<a href="#${escapeMarkup(to)}">${shown}</a>`;
  return note === '' ? link : `${link} ${escapeMarkup(note)}`;
}

/** A word in a frame of its colour. */
export function badge(tone: string): string {
  return `<span class="badge ${escapeMarkup(tone)}">${escapeMarkup(tone.replaceAll('_', ' '))}</span>`;
}

/** What draws the plots of a report (`plot.ts`): the end of its body. */
export async function plotScript(): Promise<string> {
  const files = new Map((await pageFiles()).map(({ name, bytes }) => [name, bytes]));
  const textOf = (name: string) => Buffer.from(files.get(name) ?? []).toString();
  return `<style>${textOf('plot-style.css')}</style><script>${textOf('plot.js')}</script>`;
}

/** Each colour in light mode and in dark mode. */
const colours = {
  ink: ['#1b1f24', '#e6edf3'],
  paper: ['#fff', '#0d1117'],
  line: ['#d0d7de', '#3d444d'],
  soft: ['#f4f6f8', '#161b22'],
  good: ['#116329', '#56d364'],
  bad: ['#b3261e', '#ff8f87'],
  known: ['#0550ae', '#79b8ff'],
  quiet: ['#57606a', '#b1bac4'],
  odd: ['#8a4600', '#f0a85a'],
  rare: ['#8e1f80', '#f0a0e4'],
} as const;

/** The colours of verdicts, and of the lines of a plot. */
const tones: Readonly<Record<string, keyof typeof colours>> = {
  passed: 'good',
  met: 'good',
  failed: 'bad',
  error: 'bad',
  invalid: 'bad',
  crossed: 'bad',
  flaky: 'bad',
  observed: 'known',
  advice: 'known',
  measured: 'known',
  skipped: 'quiet',
  not_exercised: 'odd',
  notice: 'odd',
  spelling: 'rare',
};

/** The CSS variables of the colours; `mode` 0 is light, 1 is dark. */
function variables(mode: 0 | 1): string {
  return Object.entries(colours)
    .map(([name, values]) => `--${name}:${values[mode]}`)
    .join(';');
}

const style = `
:root{${variables(0)}}
@media (prefers-color-scheme:dark){:root{${variables(1)}}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;color:var(--ink);background:var(--paper);font:16px/1.5 system-ui,sans-serif}
h1{margin:.2em 0}h3{font-size:1rem;margin:.8rem 0 .3rem;overflow-wrap:anywhere}h4{font-size:.9rem;margin:.6rem 0 .2rem;overflow-wrap:anywhere}
a{color:var(--known)}li{overflow-wrap:anywhere}
.counts{list-style:none;display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;padding:0}
.badge{display:inline-block;border:1px solid currentColor;border-radius:.3rem;padding:0 .4rem;font-size:.8rem;font-weight:600}
${Object.entries(tones)
  .map(([tone, colour]) => `.${tone}{color:var(--${colour})}`)
  .join('')}
.subject{border:1px solid var(--line);border-radius:.4rem;margin:.5rem 0;padding:.4rem .8rem}
summary{cursor:pointer}summary:focus-visible,a:focus-visible{outline:2px solid var(--known)}
:target{outline:2px solid var(--known);outline-offset:.3rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.3rem;padding:.5rem;overflow:auto;max-height:20rem;white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0}
code,.timeline{font-family:ui-monospace,monospace}.timeline{margin:.2rem 0;padding:0;list-style:none;font-size:.85rem}
pre.columns{white-space:pre;max-height:none}
.wide{overflow-x:auto;margin:.6rem 0}table{border-collapse:collapse;font-size:.9rem}:is(th,td){border:1px solid var(--line);padding:.2rem .6rem;text-align:right}th:first-child{text-align:left}
figure{margin:1rem 0}figcaption{font-size:.9rem}.plot{color:var(--quiet)}
@media (max-width:40rem){dl{grid-template-columns:1fr}}
`;
