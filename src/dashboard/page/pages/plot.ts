/**
 * The plot itself: bars of requests that passed, and of those that were answered 429 above them.
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
  let plot = make(place);
  const observer = new ResizeObserver(() => plot.setSize({ width: widthOf(place), height }));
  const repaint = () => {
    plot.destroy();
    plot = make(place);
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

function make(place: HTMLElement): uPlot {
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
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
      scales: { y: { range: (_plot, _least, most) => [0, Math.max(4, most * 1.1)] } },
      axes: [axis, { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000] }],
      series: [
        { value: '{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}' },
        series('all requests', 'sent'),
        series('answered 429', 'failed'),
      ],
      cursor: { drag: { x: false, y: false } },
    },
    [[], [], []],
    place,
  );
}

function widthOf(place: HTMLElement): number {
  return Math.max(200, place.clientWidth);
}
