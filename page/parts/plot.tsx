/** A plot in the page; `judging/report/plot/draw.ts` draws it, there and in the HTML reports. */
import { useEffect, useRef } from 'preact/hooks';
import { type Drawn, drawPlot } from '#judging/report/plot/draw.ts';
import type { PlotData } from '#judging/report/plot.ts';

interface PlotProps {
  readonly data: PlotData;
  /** Called with the shown times, in epoch seconds, after a zoom. */
  readonly onZoom: (from: number, to: number) => void;
}

export function Plot({ data, onZoom }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<Drawn | undefined>(undefined);
  const names = data.lines.map(({ label, tone }) => `${label} ${tone}`).join();
  useEffect(() => {
    if (box.current !== null) drawn.current = drawPlot(box.current, data, onZoom);
    return () => drawn.current?.remove();
  }, [names]);
  useEffect(() => drawn.current?.update(data), [data]);
  return <div class="plot" ref={box} />;
}
