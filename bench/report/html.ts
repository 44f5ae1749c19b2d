/**
 * The HTML report: one self-contained page with tables and plots by uPlot, inlined.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { EnduranceResult } from '../endurance/endurance-result.ts';
import { servers } from '../measure.ts';
import { enduranceText } from './endurance-text.ts';
import { plotScript } from './plot-script.ts';
import { type BenchResult, type CaseResult, withoutRatio } from './result.ts';
import { auditText } from './text.ts';

export function htmlReport(result: BenchResult): string {
  const { script, style } = plottingLibrary();
  const json = JSON.stringify(result).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>smstwin bench</title>
<style>${style}
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }
table { border-collapse: collapse; margin: 0.5rem 0; }
th, td { padding: 0.2rem 0.8rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
pre { overflow-x: auto; background: #f5f5f5; padding: 0.8rem; }
.invalid { color: #a00000; font-weight: 600; } .plot { margin: 1rem 0; }
</style>
</head>
<body>
<h1>smstwin bench</h1>
<p>${asHtml(conditions(result))} Compare ratios within one run; absolute figures depend on the
machine and its other load.</p>
${result.cases.map(caseSection).join('\n')}
${result.endurance.map(enduranceSection).join('\n')}
${auditSection(result)}
<script type="application/json" id="result">${json}</script>
<script>${script.replaceAll('</script', '<\\/script')}</script>
<script>${plotScript}</script>
</body>
</html>
`;
}

function caseSection(result: CaseResult): string {
  const headline =
    result.invalid.length > 0
      ? `<p class="invalid">Invalid: ${asHtml(result.invalid.join('; '))}</p>`
      : result.cpu_ratio === null
        ? `<p>${asHtml(withoutRatio(result))}</p>`
        : `<p><strong>${result.cpu_ratio.toFixed(2)}x</strong> the CPU per request of a bare ` +
          `HyperExpress handler${result.bar === null ? '' : ` (bar ${result.bar}x)`}</p>`;
  const rows = servers.map((name) => {
    const figures = result.servers[name];
    if (figures === undefined) return '';
    const { cpu_us_per_request: cpu, requests_per_second: rate, latency_ms: ms } = figures;
    const isShown = cpu !== null && result.invalid.length === 0;
    const cells = [
      isShown ? cpu.toFixed(1) : '-',
      rate.toFixed(0),
      ms.p50.toFixed(2),
      ms.p99.toFixed(2),
      ms.max.toFixed(2),
    ];
    return `<tr><td>${name}</td>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  const slos = result.slos.map(
    ({ slo, met }) => `<li>${asHtml(slo)}: ${met ? 'met' : 'crossed'}</li>`,
  );
  const name = asHtml(result.case);
  return `<section><h2>${name}</h2><p>${asHtml(result.what)}</p>${headline}
<table><thead><tr><th>server</th><th>CPU &micro;s/request</th><th>requests/s</th><th>p50 ms</th>
<th>p99 ms</th><th>max ms</th></tr></thead><tbody>${rows.join('')}</tbody></table>
<ul>${slos.join('')}</ul>
<div class="plot" data-plot="latency" data-case="${name}" role="img"
  aria-label="Latency by percentile of ${name}"></div>
<div class="plot" data-plot="throughput" data-case="${name}" role="img"
  aria-label="Throughput over time of ${name}"></div></section>`;
}

function enduranceSection(result: EnduranceResult): string {
  const name = asHtml(result.case);
  const plots = [
    ['endurance-load', 'Throughput and CPU per request'],
    ['endurance-memory', 'Memory'],
    ['endurance-delay', 'Event-loop delay'],
    ['endurance-probe', 'Probe latency'],
  ].map(
    ([plot, title]) => `<div class="plot" data-plot="${plot}" data-case="${name}" role="img"
  aria-label="${title} over time of ${name}"></div>`,
  );
  return `<section><h2>${name}</h2><pre>${asHtml(enduranceText(result).trim())}</pre>
${plots.join('\n')}</section>`;
}

function auditSection({ audit }: BenchResult): string {
  if (audit === null) return '';
  return `<section><h2>limit-audit</h2><pre>${asHtml(auditText(audit).trim())}</pre>
<div class="plot" data-plot="audit" role="img"
  aria-label="Accepted and refused per simulated second, and the limit"></div></section>`;
}

function conditions({ node, started_at, connections, open_loop_rate: rate }: BenchResult): string {
  const mode = rate === null ? 'saturation' : `open loop at ${rate} requests per second`;
  return `Node ${node}, ${started_at}, ${connections} connections, ${mode}.`;
}

function plottingLibrary(): { readonly script: string; readonly style: string } {
  const isCheckout = import.meta.url.endsWith('.ts');
  const { resolve } = createRequire(import.meta.url);
  // The package ships its own copy, so that uPlot is not installed with it.
  const file = (name: string) =>
    readFileSync(
      isCheckout ? resolve(`uplot/dist/${name}`) : new URL(`uplot/${name}`, import.meta.url),
      'utf8',
    );
  return { script: file('uPlot.iife.min.js'), style: file('uPlot.min.css') };
}

function asHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
