/**
 * Draws the plot of the page and of the HTML reports in a browser, by uPlot: zoom by dragging,
 * values under the pointer, a finger or the arrow keys. Its legend shows the values as text.
 */
import UPlot from 'uplot';
import type { PlotData } from '../plot.ts';

/** A plot that is drawn in an element. */
export interface Drawn {
  /** Shows other values of the same lines; a zoom stays. */
  readonly update: (data: PlotData) => void;
  readonly remove: () => void;
}

const height = 240;
const markSize = 7;

/** `onZoom` is called with the shown part of the x axis. */
export function drawPlot(
  element: HTMLElement,
  first: PlotData,
  onZoom: (from: number, to: number) => void = () => {},
): Drawn {
  let data = first;
  /** The index of the values that the keys have chosen. */
  let chosen: number | undefined;
  /** New data must not end a zoom, of which dragging is one. */
  let isZoomed = false;
  const canvas = document.createElement('div');
  canvas.ariaHidden = 'true';
  element.replaceChildren(canvas);
  const onScale = ({ scales, data: [all] }: UPlot) => {
    const { min, max } = scales['x'] ?? {};
    if (min == null || max == null) return;
    isZoomed = max - min < (all.at(-1) ?? 0) - (all[0] ?? 0);
    onZoom(min, max);
  };
  const make = () => new UPlot(optionsOf(data, canvas, onScale), alignedOf(data), canvas);
  let plot = make();
  const redraw = () => {
    plot.destroy();
    plot = make();
  };
  const resized = new ResizeObserver(() => plot.setSize({ width: canvas.clientWidth, height }));
  resized.observe(canvas);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', redraw);
  describeValues(element, data, chosen);
  const showValue = (index: number) => {
    chosen = Math.max(0, Math.min(data.x.length - 1, index));
    plot.setCursor({ left: plot.valToPos(data.x[chosen] ?? 0, 'x'), top: 1 });
    describeValues(element, data, chosen);
  };
  element.onkeydown = (event) => {
    const action = keyActions(plot, data.x, chosen, showValue)[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  };
  element.ontouchmove = ({ touches: [touch] }) => {
    const { left } = plot.over.getBoundingClientRect();
    if (touch !== undefined) plot.setCursor({ left: touch.clientX - left, top: 1 });
  };
  return {
    update: (next) => {
      data = next;
      plot.setData(alignedOf(next), !isZoomed);
      describeValues(element, next, chosen);
    },
    remove: () => {
      resized.disconnect();
      scheme.removeEventListener('change', redraw);
      plot.destroy();
    },
  };
}

/** Makes the element a slider to a screen reader, which reads the values at the chosen index. */
function describeValues(element: HTMLElement, data: PlotData, chosen = 0): void {
  const { x, lines, label } = data;
  const values = lines.map(({ label: name, values: all }) => `${name} ${all[chosen] ?? 0}`);
  Object.assign(element, {
    role: 'slider',
    tabIndex: 0,
    ariaLabel: label,
    ariaValueText: [xText(data, x[chosen]), ...values].join(', '),
    ariaValueMin: '0',
    ariaValueMax: `${Math.max(0, x.length - 1)}`,
    ariaValueNow: String(chosen),
  });
}

/** What each key does: shows another value, zooms, or moves a zoom. */
function keyActions(
  plot: UPlot,
  x: PlotData['x'],
  chosen: number | undefined,
  showValue: (index: number) => void,
): Readonly<Record<string, () => void>> {
  const { min = 0, max = 0 } = plot.scales['x'] ?? {};
  const [first = 0, last = 0] = [x[0], x.at(-1)];
  const span = max - min;
  const zoomTo = (from: number, to: number) => plot.setScale('x', { min: from, max: to });
  return {
    ArrowLeft: () => showValue((chosen ?? x.length) - 1),
    ArrowRight: () => showValue((chosen ?? -1) + 1),
    Home: () => showValue(0),
    End: () => showValue(x.length - 1),
    '+': () => zoomTo(min + span / 4, max - span / 4),
    '-': () => zoomTo(Math.max(first, min - span / 2), Math.min(last, max + span / 2)),
    PageUp: () => zoomTo(min - span / 2, max - span / 2),
    PageDown: () => zoomTo(min + span / 2, max + span / 2),
    '0': () => zoomTo(first, last),
  };
}

function alignedOf({ x, lines }: PlotData): UPlot.AlignedData {
  return [x, ...lines.map(({ values }) => values)] as unknown as UPlot.AlignedData;
}

function optionsOf(
  data: PlotData,
  element: HTMLElement,
  onScale: (plot: UPlot) => void,
): UPlot.Options {
  const { unit, lines, isLogarithmic, xUnit } = data;
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: style.color, grid: { stroke: colour('--line'), width: 1 } };
  const stepped = UPlot.paths.stepped?.({ align: 1 });
  const valuesAxis: UPlot.Scale = isLogarithmic
    ? { distr: 3 }
    : { range: (_, __, most) => [0, Math.max(4, most * 1.1)] };
  const xValues = (splits: readonly number[]) => splits.map((value) => xText(data, value));
  return {
    width: element.clientWidth,
    height,
    scales: { x: { time: false }, y: valuesAxis },
    axes: [
      { ...axis, values: (_, splits) => xValues(splits), space: 90, label: xUnit, labelSize: 20 },
      { ...axis, label: unit, labelSize: 20, size: 62 },
    ],
    series: [
      { label: xUnit, value: (_, value) => xText(data, value) },
      ...lines.map(({ label, tone, look }): UPlot.Series => {
        const stroke = colour(tone);
        const isMarks = look === 'marks';
        return {
          label,
          stroke,
          width: 2,
          value: (_, value) => value?.toLocaleString('en') ?? '–',
          points: { show: isMarks, size: markSize, fill: stroke },
          ...(look === 'dashes' && { dash: [6, 4] }),
          ...(isMarks && { paths: () => null }),
          ...(look === 'steps' && stepped && { paths: stepped }),
        };
      }),
    ],
    hooks: {
      setScale: [(plot, key) => key === 'x' && onScale(plot)],
      // Without a pointer, the legend shows the last values.
      setLegend: [
        (plot) =>
          plot.cursor.idx == null && plot.setLegend({ idx: plot.data[0].length - 1 }, false),
      ],
    },
  };
}

/** A place on the x axis as text: a time of day, or a number. */
function xText({ isTime }: PlotData, value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return '–';
  return isTime
    ? new Date(value * 1_000).toISOString().slice(11, 19)
    : value.toLocaleString('en', { maximumSignificantDigits: 6 });
}
