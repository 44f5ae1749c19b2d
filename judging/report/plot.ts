/**
 * The data of a plot, and its place in an HTML report. The page and the reports draw it by the same
 * code, which runs in a browser (`plot/draw.ts`).
 */
import { escapeMarkup } from './summary.ts';

/** Plain data: a report holds it as JSON. */
export interface PlotData {
  /** What a person who cannot see the plot hears. */
  readonly label: string;
  /** The title of the axis of values, and of the other axis. */
  readonly unit: string;
  readonly xUnit: string;
  /** Places on the x axis, increasing; of a time in epoch seconds. */
  readonly x: readonly number[];
  readonly isTime?: boolean;
  readonly lines: readonly PlotLine[];
  /** For values of several magnitudes. */
  readonly isLogarithmic?: boolean;
}

export interface PlotLine {
  readonly label: string;
  /** The CSS variable of its colour, such as `--good`. */
  readonly tone: string;
  /** A value for each place. */
  readonly values: readonly (number | null)[];
  /** `steps`: a value holds until the next one. `marks`: points without a line. */
  readonly look?: 'steps' | 'dashes' | 'marks';
}

export function plotHtml(data: PlotData): string {
  return `<figure><figcaption>${escapeMarkup(data.label)}</figcaption><div class="plot" data-plot="${escapeMarkup(JSON.stringify(data))}"></div></figure>`;
}
