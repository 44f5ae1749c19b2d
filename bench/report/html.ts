/**
 * The HTML report of a bench run, in the page that all HTML reports share: for each case the
 * figures as the terminal shows them, and plots.
 */

import { type PageLink, pageHtml } from '#judging/report/page.ts';
import { escapeMarkup as text } from '#judging/report/summary.ts';
import { isBroken } from '../recount.ts';
import { type Line, plotSvg } from './plot.ts';
import type { BenchResult, CaseResult } from './result.ts';
import { auditText, caseText } from './text.ts';

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
