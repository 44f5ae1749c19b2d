/**
 * One self-contained page: every rule with its sentence, its cases, their exchanges and a curl for
 * each. Without scripts or external files; sections still open. Readable in light and dark mode.
 */
import { curlOf, type Exchange } from '../exchange.ts';
import { bySubject, isFailure, type Result, type Verdict, verdicts } from '../result.ts';
import { because, type Summary, escapeMarkup as text, verdictName } from './summary.ts';

export function htmlReport(summary: Summary): string {
  const subjects = [...bySubject(summary.results)];
  const rules = subjects.filter(([, its]) => its[0]?.kind === 'rule');
  const gaps = subjects.filter(([, its]) => its[0]?.kind === 'assumption');
  const verdictOf = new Map<string, Verdict>(summary.rules.map(({ id, verdict }) => [id, verdict]));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(summary.title)} of ${text(summary.baseUrl)}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${text(summary.title)}</h1>
<p>${text(summary.baseUrl)} · <time>${text(summary.startedAt)}</time> · ${(summary.durationMs / 1000).toFixed(1)} s · ${summary.sends} ${summary.sendsAre ?? 'sends'} · exit code ${summary.exitCode}</p>
${summary.interrupted ? '<p><strong>Interrupted: these are the results so far.</strong></p>' : ''}
${summary.reachable ? '' : '<p><strong>The target is not reachable.</strong></p>'}
<ul class="counts">${verdicts.map((verdict) => `<li>${badge(verdict, summary)} ${summary.counts[verdict]}</li>`).join('')}</ul>
</header>
<main>
<h2>Rules</h2>
${rules.map(([id, its]) => section(id, its, verdictOf.get(id) ?? 'skipped', summary)).join('\n')}
${gaps.length > 0 ? '<h2>Assumptions</h2>' : ''}
${gaps.map(([id, its]) => section(id, its, its[0]?.verdict ?? 'skipped', summary)).join('\n')}
${summary.weighed.stale.map((line) => `<p>Stale expectation: ${text(line)}</p>`).join('\n')}
</main>
</body>
</html>
`;
}

function badge(verdict: Verdict, summary: Summary): string {
  return `<span class="badge ${verdict}">${verdictName(verdict, summary).replace('_', ' ')}</span>`;
}

function section(id: string, its: readonly Result[], verdict: Verdict, summary: Summary): string {
  const open = isFailure(verdict) ? ' open' : '';
  return `<details class="subject" id="${text(id)}"${open}>
<summary>${badge(verdict, summary)} <strong>${text(id)}</strong> <span>${prose(summary.sentenceOf(id))}</span></summary>
${its.map((result) => caseOf(result, summary)).join('\n')}
</details>`;
}

function caseOf(result: Result, summary: Summary): string {
  const expected = summary.weighed.expected.get(result.id);
  const facts: [string, string | undefined][] = [
    ['Sends', result.sends],
    ['Demands', result.demands],
    ['Expected', result.expected],
    ['Actual', result.actual],
    ['Observed', result.verdict === 'observed' ? because(result) : undefined],
    ['Reason', result.reason],
    ['Expected failure', expected],
  ];
  const rows = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`<dt>${name}</dt><dd>${text(value)}</dd>`],
  );
  const omitted =
    result.omitted > 0 ? `<p>${result.omitted} exchanges in between are left out.</p>` : '';
  return `<article><h3>${badge(result.verdict, summary)} ${text(result.id)}</h3>
<dl>${rows.join('')}</dl>
${timelineOf(result)}
${result.exchanges.length > 0 ? `<details><summary>${result.exchanges.length} exchanges</summary>${omitted}${result.exchanges.map(exchangeOf).join('\n')}</details>` : ''}
</article>`;
}

function timelineOf({ timeline = [] }: Result): string {
  if (timeline.length === 0) return '';
  const lines = timeline.map((line) => `<li>${text(line)}</li>`);
  return `<h4>Timeline</h4><ol class="timeline">${lines.join('')}</ol>`;
}

function exchangeOf(exchange: Exchange): string {
  const reply =
    exchange.failure === undefined
      ? `HTTP ${exchange.status}\n${headerLines(exchange.replyHeaders)}\n\n${exchange.replyBody}`
      : `no reply: ${exchange.failure}`;
  return `<div class="exchange">
<h4>${text(exchange.method)} ${text(exchange.url)} → ${exchange.status || 'no reply'} <small>${exchange.durationMs} ms</small></h4>
<pre role="group" tabindex="0" aria-label="request">${text(`${headerLines(exchange.requestHeaders)}\n\n${exchange.requestBody ?? ''}`)}</pre>
<pre role="group" tabindex="0" aria-label="reply">${text(reply)}</pre>
<pre role="group" tabindex="0" aria-label="curl"><code>${text(curlOf(exchange))}</code></pre>
</div>`;
}

function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

/** In the ledger's sentences, code is between back quotes. */
function prose(sentence: string): string {
  return text(sentence).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

const style = `
:root{--ink:#1b1f24;--paper:#fff;--line:#d0d7de;--soft:#f4f6f8;--link:#0550ae;
--passed:#116329;--failed:#b3261e;--observed:#0550ae;--skipped:#57606a;--not-exercised:#8a4600;--spelling:#8e1f80;--error:#b3261e}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--line:#3d444d;--soft:#161b22;--link:#79b8ff;
--passed:#56d364;--failed:#ff8f87;--observed:#79b8ff;--skipped:#b1bac4;--not-exercised:#f0a85a;--spelling:#f0a0e4;--error:#ff8f87}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;color:var(--ink);background:var(--paper);font:16px/1.5 system-ui,sans-serif}
h1{margin:.2em 0}h3{font-size:1rem;margin:.8rem 0 .3rem}h4{font-size:.9rem;margin:.6rem 0 .2rem;overflow-wrap:anywhere}
.counts{list-style:none;display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;padding:0}
.badge{display:inline-block;border:1px solid currentColor;border-radius:.3rem;padding:0 .4rem;font-size:.8rem;font-weight:600}
${['passed', 'failed', 'observed', 'skipped', 'not_exercised', 'spelling', 'error'].map((name) => `.${name}{color:var(--${name.replace('_', '-')})}`).join('')}
.subject{border:1px solid var(--line);border-radius:.4rem;margin:.5rem 0;padding:.4rem .8rem}
summary{cursor:pointer}summary:focus-visible{outline:2px solid var(--link)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.3rem;padding:.5rem;overflow:auto;max-height:20rem;white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0}
code,.timeline{font-family:ui-monospace,monospace}.timeline{margin:.2rem 0;font-size:.85rem}
@media (max-width:40rem){dl{grid-template-columns:1fr}}
`;
