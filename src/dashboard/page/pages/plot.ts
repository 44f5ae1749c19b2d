/**
 * Draws the plot: bars of all requests, and in front of them, from the same base, bars of those
 * answered 429.
 */
import uPlot from 'uplot';
import type { Counts } from './request-counts.ts';

export interface Plot {
  draw(counts: Counts): void;
  remove(): void;
}

const height = 200;

export function createPlot(place: HTMLElement): Plot {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let last: Counts | undefined;
  const stretchS = () => (last?.widthMs ?? 0) / 1_000;
  let plot = make(place, stretchS);
  const observer = new ResizeObserver(() => plot.setSize({ width: widthOf(place), height }));
  const repaint = () => {
    plot.destroy();
    plot = make(place, stretchS);
    if (last !== undefined) draw(last);
  };
  const draw = (counts: Counts) => {
    last = counts;
    const total = counts.passed.map((count, at) => count + (counts.refused[at] ?? 0));
    plot.setData([[...counts.startS], total, [...counts.refused]]);
  };
  observer.observe(place);
  dark.addEventListener('change', repaint);
  return {
    draw,
    remove: () => {
      observer.disconnect();
      dark.removeEventListener('change', repaint);
      plot.destroy();
    },
  };
}

function make(place: HTMLElement, stretchS: () => number): uPlot {
  const style = getComputedStyle(place);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const bars = uPlot.paths.bars?.({ size: [0.8, 40], align: 1 });
  const axis = {
    stroke: colour('dim'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1 },
  };
  const series = (label: string, tone: string) => ({
    label,
    stroke: colour(tone),
    fill: colour(tone),
    width: 0,
    points: { show: false },
    ...(bars !== undefined && { paths: bars }),
  });
  return new uPlot(
    {
      width: widthOf(place),
      height,
      scales: {
        // Leaves room for the last bar, which starts at the last time.
        x: { range: (_plot, first, last) => [first, last + stretchS()] },
        y: { range: (_plot, _least, most) => [0, Math.max(4, most * 1.1)] },
      },
      axes: [
        { ...axis, space: 90, values: (_plot, times) => times.map(clockText) },
        { ...axis, size: 44, incrs: countSteps, values: (_plot, counts) => counts.map(countText) },
      ],
      series: [{}, series('all requests', 'sent'), series('answered 429', 'failed')],
      legend: { show: false },
      cursor: { show: false },
    },
    [[], [], []],
    place,
  );
}

/** Steps of the axis in whole numbers: 1, 2, 5, 10 and so on. */
const countSteps = Array.from({ length: 10 }, (_, zeros) =>
  [1, 2, 5].map((n) => n * 10 ** zeros),
).flat();

const countFormat = new Intl.NumberFormat('en', { notation: 'compact' });

/** `500`, `20K`: short enough for the axis. */
function countText(count: number): string {
  return countFormat.format(count);
}

/** UTC, as everywhere on the page. */
function clockText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(11, 19);
}

function widthOf(place: HTMLElement): number {
  return Math.max(200, place.clientWidth);
}
