/** The script of an HTML report: draws each plot whose data the report holds (`../plot.ts`). */
import type { PlotData } from '../plot.ts';
import { drawPlot } from './draw.ts';

for (const box of document.querySelectorAll<HTMLElement>('[data-plot]'))
  drawPlot(box, JSON.parse(box.dataset['plot'] ?? '') as PlotData);
