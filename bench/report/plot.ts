/**
 * Line plots as plain SVG: axes with round ticks, a legend, colours of the page's stylesheet. The
 * label tells a person who cannot see the plot what it shows.
 */
import { escapeMarkup as text } from '#judging/report/summary.ts';

/** `tone`: a class of the page's stylesheet. */
export type Line<R> = readonly [name: string, tone: string, figureOf: (row: R) => number];

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

export function plotSvg<R>(plot: Plot<R>): string {
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
