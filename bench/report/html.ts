/**
 * The HTML report of a bench run, in the page that all HTML reports share: for each case the
 * figures as the terminal shows them, and plots. A plot is plain SVG; its label says what it shows to
 * a person who cannot see it.
 */
import { isBroken } from '#judging/limiter/recount.ts';
import { type PageLink, pageHtml } from '#judging/report/page.ts';
import { escapeMarkup as text } from '#judging/report/summary.ts';
import { auditText, type BenchResult, type CaseResult, caseText } from './result.ts';

export function htmlReport(result: BenchResult): string {
  const { node, started_at, connections, open_loop_rate: rate, held } = result;
  const { cases, audit } = result;
  const isAuditBroken = audit !== null && (audit.invalid.length > 0 || isBroken(audit));
  return pageHtml({
    title: 'smstwin bench',
    facts: [
      `Node ${node}`,
      started_at,
      `${connections} connections`,
      ...(held === null ? [] : [`${held.toLocaleString('en')} messages held before the load`]),
      rate === null ? 'saturation' : `open loop at ${rate} requests per second`,
    ],
    warnings: [
      'Compare ratios within one run; absolute figures depend on the machine and its other load.',
    ],
    counts: [
      ...cases.map((result) => ({ ...headlineOf(result), to: result.case })),
      ...(audit === null ? [] : [auditLink(isAuditBroken)]),
    ],
    findings: [...cases.flatMap(troublesOf), ...(isAuditBroken ? [auditLink(isAuditBroken)] : [])],
    body: [...cases.map(caseSection), auditSection(result)].join('\n'),
  });
}

function auditLink(isBad: boolean): PageLink {
  const label = isBad ? 'limit-audit: a limit was broken' : 'limit-audit: every limit held';
  return { label, tone: isBad ? 'failed' : 'passed', to: 'limit-audit' };
}

function headlineOf(result: CaseResult): PageLink {
  if (result.invalid.length > 0) return { label: result.case, tone: 'invalid' };
  const tone = result.slos.some(({ met }) => !met) ? 'crossed' : 'measured';
  const ratio = result.cpu_ratio;
  return { label: ratio === null ? result.case : `${result.case} ${ratio.toFixed(2)}x`, tone };
}

function troublesOf({ case: name, invalid, slos }: CaseResult): PageLink[] {
  return [
    ...invalid.map((why) => ({ label: `${name}: ${why}`, tone: 'invalid', to: name })),
    ...slos
      .filter(({ met }) => !met)
      .map(({ slo }) => ({ label: `${name}: ${slo}`, tone: 'crossed', to: name })),
  ];
}

function section(name: string, figures: string, ...plots: readonly string[]): string {
  return `<section id="${text(name)}"><h2>${text(name)}</h2>
<pre class="columns" role="group" tabindex="0" aria-label="figures">${text(figures.trim())}</pre>
${plots.join('\n')}</section>`;
}

type Answered = { readonly accepted: number; readonly refused: number };
const answered: readonly Line<Answered>[] = [
  ['accepted', 'passed', ({ accepted }) => accepted],
  ['refused', 'notice', ({ refused }) => refused],
];

function caseSection(result: CaseResult): string {
  const { case: name, seconds, distribution } = result;
  return section(
    name,
    caseText(result),
    plotSvg({
      label: `Latency by percentile of ${name}`,
      axes: ['percentile', 'ms'],
      rows: distribution,
      x: ([percent]) => percent,
      lines: [['ms', 'observed', ([, ms]) => ms]],
      isLogarithmic: true,
    }),
    plotSvg({
      label: `Answered per second of ${name}`,
      axes: ['second of load', 'replies'],
      rows: seconds,
      lines: [...answered, ['failed', 'failed', ({ failed }) => failed]],
    }),
  );
}

function auditSection({ audit }: BenchResult): string {
  if (audit === null) return '';
  const { perSecond, endpoints } = audit;
  const send = endpoints.find(({ endpoint }) => endpoint === 'send');
  const bound = send === undefined ? 0 : (send.limit * send.users) / 60;
  return section(
    'limit-audit',
    auditText(audit),
    plotSvg({
      label: 'Accepted and refused per simulated second, and the limit',
      axes: ['simulated second', 'sends of all users'],
      rows: perSecond,
      lines: [...answered, ['limit, spread evenly', 'skipped', () => bound]],
    }),
  );
}

/** `tone`: a class of the page's stylesheet. */
type Line<R> = readonly [name: string, tone: string, figureOf: (row: R) => number];

interface Plot<R> {
  readonly label: string;
  readonly axes: readonly [x: string, y: string];
  readonly rows: readonly R[];
  /** Default: the number of the row. */
  readonly x?: (row: R) => number;
  readonly lines: readonly Line<R>[];
  /** For values of several magnitudes. The axis then does not begin at 0. */
  readonly isLogarithmic?: boolean;
}

const width = 900;
const height = 260;
const left = 90;
const right = 20;
const top = 10;
const bottom = 45;
/** More points would not be visible, and a day has 86,400 seconds. */
const mostPoints = 600;

function plotSvg<R>(plot: Plot<R>): string {
  const { label, axes, rows: all, lines, isLogarithmic = false } = plot;
  const step = Math.ceil(all.length / mostPoints);
  const rows = all.filter((_, index) => index % step === 0);
  const x = rows.map((row, index) => plot.x?.(row) ?? index * step);
  const series = lines.map(([name, tone, figureOf]) => {
    return { name, tone, values: rows.map(figureOf) };
  });
  const shown = series.flatMap(({ values }) => values);
  const most = Math.max(...shown, 0) || 1;
  const least = Math.min(...shown.filter((value) => value > 0), most);
  const scaleY = isLogarithmic ? logarithmic(least, most) : linear(0, most * 1.1);
  const scaleX = linear(Math.min(...x, 0), Math.max(...x, 1));
  const atX = (value: number) => left + scaleX.share(value) * (width - left - right);
  const atY = (value: number) => height - bottom - scaleY.share(value) * (height - top - bottom);
  const grid = scaleY.ticks.map((tick) => {
    const y = atY(tick).toFixed(1);
    return `<path class="grid" d="M${left} ${y}H${width - right}" stroke-width="1"/><text x="${left - 8}" y="${y}" text-anchor="end" dominant-baseline="middle">${figure(tick)}</text>`;
  });
  const columns = scaleX.ticks.map(
    (tick) =>
      `<text x="${atX(tick).toFixed(1)}" y="${height - bottom + 16}" text-anchor="middle">${figure(tick)}</text>`,
  );
  const paths = series.map(({ tone, values }) => {
    const steps = values.map((value, index) => {
      const command = index === 0 ? 'M' : 'L';
      return `${command}${atX(x[index] ?? 0).toFixed(1)} ${atY(value).toFixed(1)}`;
    });
    return `<path class="${text(tone)}" d="${steps.join('')}"/>`;
  });
  const names = series.map(
    ({ name, tone }) => `<span class="${text(tone)}">■ ${text(name)}</span>`,
  );
  return `<figure><figcaption>${text(label)} ${names.join(' ')}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${text(label)}">
${grid.join('')}${columns.join('')}
<text x="${(left + width - right) / 2}" y="${height - 6}" text-anchor="middle">${text(axes[0])}</text>
<text transform="translate(16 ${(height - bottom + top) / 2}) rotate(-90)" text-anchor="middle">${text(axes[1])}</text>
${paths.join('\n')}
</svg></figure>`;
}

interface Scale {
  /** Where a value lies between the ends of the axis, from 0 to 1. */
  readonly share: (value: number) => number;
  readonly ticks: readonly number[];
}

function linear(from: number, to: number): Scale {
  const span = to - from || 1;
  const rough = span / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const first = Math.ceil(from / step);
  const count = Math.floor(to / step) - first + 1;
  return {
    share: (value) => (value - from) / span,
    ticks: Array.from({ length: count }, (_, i) => (first + i) * step),
  };
}

function logarithmic(least: number, most: number): Scale {
  const from = Math.floor(Math.log10(least));
  const to = Math.max(from + 1, Math.ceil(Math.log10(most)));
  return {
    share: (value) => (Math.max(from, Math.log10(value)) - from) / (to - from),
    ticks: Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i)),
  };
}

function figure(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 4 });
}
