/**
 * The HTML report of a bench run, in the page that all HTML reports share: for each case its
 * figures and verdicts in tables, and plots.
 */
import { badge, type PageLink, pageHtml, plotScript } from '#judging/report/page.ts';
import { type PlotLine, plotHtml } from '#judging/report/plot.ts';
import { escapeMarkup } from '#judging/report/summary.ts';
import { type AuditRun, isBroken } from '../recount.ts';
import type { BenchResult, CaseResult } from './result.ts';
import { breachesOf, figureNames, firstBreaches, headLines, serverRows } from './text.ts';

export async function htmlReport(result: BenchResult): Promise<string> {
  const { node, started_at, connections, open_loop_rate: rate, held, cases, audit } = result;
  const isAuditBroken = audit !== null && (audit.invalid.length > 0 || isBroken(audit));
  return pageHtml({
    title: 'Bench',
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
      ...cases.map((result) => ({ ...caseLink(result), to: result.case })),
      ...(audit === null ? [] : [auditLink(isAuditBroken)]),
    ],
    findings: [...cases.flatMap(alertLinks), ...(isAuditBroken ? [auditLink(isAuditBroken)] : [])],
    body: [...cases.map(caseSection), auditSection(result), await plotScript()].join('\n'),
  });
}

function auditLink(isBad: boolean): PageLink {
  const label = isBad ? 'limit-audit: a limit was broken' : 'limit-audit: every limit held';
  return { label, tone: isBad ? 'failed' : 'passed', to: 'limit-audit' };
}

function caseLink(result: CaseResult): PageLink {
  if (result.invalid.length > 0) return { label: result.case, tone: 'invalid' };
  const tone = result.slos.some(({ met }) => !met) ? 'crossed' : 'measured';
  const ratio = result.cpu_ratio;
  return { label: ratio === null ? result.case : `${result.case} ${ratio.toFixed(2)}x`, tone };
}

function alertLinks({ case: name, invalid, slos }: CaseResult): PageLink[] {
  return [
    ...invalid.map((why) => ({ label: `${name}: ${why}`, tone: 'invalid', to: name })),
    ...slos
      .filter(({ met }) => !met)
      .map(({ slo }) => ({ label: `${name}: ${slo}`, tone: 'crossed', to: name })),
  ];
}

/** `rows`: cells as HTML; the first cell of a row is its head. */
function table(label: string, heads: readonly string[], rows: readonly (readonly string[])[]) {
  const body = rows.map(([first = '', ...cells]) => {
    return `<tr><th scope="row">${first}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  return `<div class="wide" role="group" tabindex="0" aria-label="${escapeMarkup(label)}"><table><thead><tr>${heads
    .map((head) => `<th scope="col">${escapeMarkup(head)}</th>`)
    .join('')}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`;
}

function section(name: string, ...parts: readonly string[]): string {
  return `<section id="${escapeMarkup(name)}"><h2>${escapeMarkup(name)}</h2>
${parts.join('\n')}</section>`;
}

type Answered = CaseResult['seconds'] | AuditRun['perSecond'];

/** What was answered in each second. */
function answeredLines(seconds: Answered): readonly PlotLine[] {
  return [
    { label: 'accepted', tone: '--good', values: seconds.map(({ accepted }) => accepted) },
    { label: 'refused', tone: '--odd', values: seconds.map(({ refused }) => refused) },
  ];
}

function caseSection(result: CaseResult): string {
  const { case: name, what, seconds, distribution, slos } = result;
  return section(
    name,
    `<p>${escapeMarkup(what)}</p>`,
    ...headLines(result).map((line) => `<p><strong>${escapeMarkup(line)}</strong></p>`),
    table(`servers of ${name}`, ['server', ...figureNames], serverRows(result)),
    slos.length === 0
      ? ''
      : table(
          `thresholds of ${name}`,
          ['threshold', 'verdict'],
          slos.map(({ slo, met }) => [escapeMarkup(slo), badge(met ? 'met' : 'crossed')]),
        ),
    plotHtml({
      label: `Latency by percentile of ${name}`,
      unit: 'ms',
      xUnit: 'percentile',
      x: distribution.map(([percent]) => percent),
      lines: [{ label: 'ms', tone: '--known', values: distribution.map(([, ms]) => ms) }],
      isLogarithmic: true,
    }),
    plotHtml({
      label: `Answered per second of ${name}`,
      unit: 'replies',
      xUnit: 'second of load',
      x: seconds.map((_, second) => second),
      lines: [
        ...answeredLines(seconds),
        { label: 'failed', tone: '--bad', values: seconds.map(({ failed }) => failed) },
      ],
    }),
  );
}

function auditSection({ audit }: BenchResult): string {
  if (audit === null) return '';
  const { perSecond, endpoints, requests, simulatedSeconds, invalid } = audit;
  const send = endpoints.find(({ endpoint }) => endpoint === 'send');
  const passesPerSecond = send === undefined ? 0 : (send.limit * send.users) / 60;
  return section(
    'limit-audit',
    `<p>${requests} requests in ${simulatedSeconds.toFixed(0)} simulated seconds</p>`,
    ...invalid.map((why) => `<p><strong>INVALID: ${escapeMarkup(why)}</strong></p>`),
    table(
      'verdicts by endpoint',
      ['endpoint', 'verdict', 'limit', 'users', 'passed', 'refused', 'fullest 60 s'],
      endpoints.map((audited) => {
        const { endpoint, limit, users, passed, refused, fullestWindow } = audited;
        const figures = [limit, users, passed, refused, fullestWindow].map(String);
        const verdict = badge(breachesOf(audited).length === 0 ? 'passed' : 'failed');
        return [escapeMarkup(endpoint), verdict, ...figures];
      }),
    ),
    ...endpoints.flatMap((audited) => {
      const breaches = [...breachesOf(audited), ...firstBreaches(audited)].map(escapeMarkup);
      if (breaches.length === 0) return [];
      const items = breaches.map((breach) => `<li>${breach}</li>`).join('');
      return [`<h3>Breaches of ${escapeMarkup(audited.endpoint)}</h3><ul>${items}</ul>`];
    }),
    plotHtml({
      label: 'Accepted and refused per simulated second, and the limit',
      unit: 'sends of all users',
      xUnit: 'simulated second',
      x: perSecond.map((_, second) => second),
      lines: [
        ...answeredLines(perSecond),
        {
          label: 'limit, spread evenly',
          tone: '--quiet',
          look: 'dashes',
          values: perSecond.map(() => passesPerSecond),
        },
      ],
    }),
  );
}
