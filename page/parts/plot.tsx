/**
 * A plot of lines over simulated time by uPlot: zoom by dragging, values under the pointer, a finger
 * or the arrow keys. Its legend shows the values as text.
 */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { isoTime } from '../words.ts';

export interface Line {
  readonly label: string;
  /** The CSS variable of its colour, such as `--sent`. */
  readonly tone: string;
  readonly values: readonly (number | null)[];
  /** `marks`: points without a line. */
  readonly look?: 'dashes' | 'marks';
}

interface PlotProps {
  /** The accessible name. */
  readonly label: string;
  /** The title of the axis of values. */
  readonly unit: string;
  /** In epoch seconds, increasing. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  /** Called with the shown times, in epoch seconds, after a zoom. */
  readonly onZoom: (from: number, to: number) => void;
}

const height = 240;
const markSize = 7;

export function Plot(props: PlotProps) {
  const { label, times, lines, onZoom } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const chosen = useSignal<number | undefined>(undefined);
  const names = lines.map(({ label: name, tone }) => `${name} ${tone}`).join();
  const data = [times, ...lines.map(({ values }) => values)] as unknown as UPlot.AlignedData;
  /** New data must not end a zoom, of which dragging is one. */
  const isZoomed = useRef(false);
  const onScale = ({ scales, data: [all] }: UPlot) => {
    const { min, max } = scales['x'] ?? {};
    if (min == null || max == null) return;
    isZoomed.current = max - min < (all.at(-1) ?? 0) - (all[0] ?? 0);
    onZoom(min, max);
  };
  useEffect(() => {
    const { current } = box;
    if (current === null) return;
    const draw = () => {
      plot.current?.destroy();
      plot.current = new UPlot(optionsOf(props, current, onScale), data, current);
    };
    draw();
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: current.clientWidth, height }),
    );
    resized.observe(current);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', draw);
      plot.current?.destroy();
    };
  }, [names]);
  useEffect(() => {
    plot.current?.setData(data, !isZoomed.current);
  }, [times, lines]);
  const zoomTo = (min: number, max: number) => plot.current?.setScale('x', { min, max });
  const show = (index: number) => {
    const at = Math.max(0, Math.min(times.length - 1, index));
    chosen.value = at;
    const left = plot.current?.valToPos(times[at] ?? 0, 'x') ?? 0;
    plot.current?.setCursor({ left, top: 1 });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { min = 0, max = 0 } = plot.current?.scales['x'] ?? {};
    const span = max - min;
    const last = times.length - 1;
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => show((chosen.value ?? times.length) - 1),
      ArrowRight: () => show((chosen.value ?? -1) + 1),
      Home: () => show(0),
      End: () => show(last),
      '+': () => zoomTo(min + span / 4, max - span / 4),
      '-': () =>
        zoomTo(Math.max(times[0] ?? 0, min - span / 2), Math.min(times[last] ?? 0, max + span / 2)),
      PageUp: () => zoomTo(min - span / 2, max - span / 2),
      PageDown: () => zoomTo(min + span / 2, max + span / 2),
      '0': () => zoomTo(times[0] ?? 0, times[last] ?? 0),
    };
    const action = actions[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  };
  const at = chosen.value ?? 0;
  const valueText = [
    clockText(times[at] ?? 0),
    ...lines.map(({ label: name, values }) => `${name} ${values[at] ?? 0}`),
  ].join(', ');
  return (
    <div
      class="plot"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, times.length - 1)}
      aria-valuenow={at}
      aria-valuetext={valueText}
      onKeyDown={onKeyDown}
      onTouchMove={({ touches: [touch] }) => {
        const { left = 0 } = plot.current?.over.getBoundingClientRect() ?? {};
        if (touch !== undefined) plot.current?.setCursor({ left: touch.clientX - left, top: 1 });
      }}
    >
      <div ref={box} aria-hidden="true" />
    </div>
  );
}

function optionsOf(
  { unit, lines }: PlotProps,
  element: HTMLElement,
  onScale: (plot: UPlot) => void,
): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 } };
  const stepped = UPlot.paths.stepped?.({ align: 1 });
  return {
    width: element.clientWidth,
    height,
    scales: { y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] } },
    axes: [
      { ...axis, values: (_, splits) => splits.map((second) => clockText(second)), space: 90 },
      { ...axis, label: unit, labelSize: 20, size: 56 },
    ],
    series: [
      { label: 'UTC, simulated', value: (_, second) => clockText(second) },
      ...lines.map(({ label, tone, look }): UPlot.Series => {
        const stroke = colour(tone);
        const isMarks = look === 'marks';
        return {
          label,
          stroke,
          width: 2,
          points: { show: isMarks, size: markSize, fill: stroke },
          ...(look === 'dashes' && { dash: [6, 4] }),
          ...(isMarks ? { paths: () => null } : stepped && { paths: stepped }),
        };
      }),
    ],
    hooks: { setScale: [(plot, key) => key === 'x' && onScale(plot)] },
  };
}

/** The time of day; UTC, as everywhere on the page. */
export function clockText(second: number): string {
  return Number.isFinite(second) ? isoTime(second * 1_000).slice(11, 19) : '–';
}
