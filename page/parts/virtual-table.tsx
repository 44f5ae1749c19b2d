/**
 * A table that renders only the visible rows, so that ten thousand rows are as fast as ten. All
 * rows have the same height. While the table is scrolled or under the pointer, rows that are added
 * above do not move the others. A click anywhere in a row follows the row's link.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { pageArgument } from '../route.ts';
import { Cells, type Column, TableHead, useMeasured } from './table.tsx';

interface VirtualTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly count: number;
  readonly rowAt: (index: number) => T | undefined;
  /** Identifies a row; also the address's argument while the row's detail is shown. */
  readonly keyOf: (row: T) => string;
  /** Called when the last rows are about to become visible. */
  readonly onEnd?: () => unknown;
  /** Called with the indexes of the rendered rows. */
  readonly onVisible?: (first: number, last: number) => void;
  /** Shown below the table. */
  readonly children: ComponentChildren;
}

/** In pixels, as in `styles/tables.css`. */
const rowHeight = 34;
/** Rows rendered above and below the visible ones, for smooth scrolling. */
const spareRows = 8;
/** `onEnd` is called this many rows before the end. */
const rowsBeforeEnd = 50;

export function VirtualTable<T>(props: VirtualTableProps<T>) {
  const { label, columns, count, rowAt, keyOf, onEnd, onVisible } = props;
  const region = useRef<HTMLDivElement>(null);
  const scrollTop = useSignal(0);
  /** Until it is measured, a usual height. */
  const height = useSignal(600);
  /** Rows added above since the top was last visible. */
  const newRows = useSignal(0);

  useMeasured(region, (element) => {
    height.value = element.clientHeight;
  });

  useStayingInPlace(region, props, (added) => {
    newRows.value += added;
  });

  const bottom = scrollTop.value + height.value;
  const first = Math.max(0, Math.floor(scrollTop.value / rowHeight) - spareRows);
  const last = Math.min(count, Math.ceil(bottom / rowHeight) + spareRows);
  useEffect(() => {
    onVisible?.(first, last);
    if (last >= count - rowsBeforeEnd) onEnd?.();
  }, [first, last, count, onEnd, onVisible]);

  const rows: ComponentChildren[] = [];
  for (let index = first; index < last; index++) {
    const row = rowAt(index);
    if (row === undefined) continue;
    const key = keyOf(row);
    rows.push(
      <tr key={key} aria-rowindex={index + 2} class={key === pageArgument.value ? 'selected' : ''}>
        <Cells row={row} above={rowAt(index - 1)} columns={columns} />
      </tr>,
    );
  }
  return (
    <>
      {newRows.value > 0 && (
        <button
          type="button"
          class="button plain new-rows"
          onClick={() => region.current?.scrollTo({ top: 0 })}
        >
          {newRows.value.toLocaleString('en')} new
        </button>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: keyboard users follow the links in the rows. */}
      <section
        class="scroll"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
        tabIndex={0}
        ref={region}
        onScroll={(event) => {
          scrollTop.value = event.currentTarget.scrollTop;
          if (scrollTop.value === 0) newRows.value = 0;
        }}
        onClick={followRow}
      >
        <table class="virtual" aria-rowcount={count + 1}>
          <colgroup>
            {columns.map(({ head, kind, width }) => (
              <col key={head} class={kind} style={width === undefined ? {} : { width }} />
            ))}
          </colgroup>
          <TableHead columns={columns} aria-rowindex={1} />
          <tbody>
            <Spacer rows={first} />
            {rows}
            <Spacer rows={count - last} />
          </tbody>
        </table>
      </section>
      <p class="foot dim actions">{props.children}</p>
    </>
  );
}

/**
 * A row as high as the rows that are not rendered. It has one cell: one across all columns would
 * show columns that a narrow page hides.
 */
function Spacer({ rows }: { readonly rows: number }) {
  if (rows <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: an empty row takes no focus.
    <tr aria-hidden="true" class="space">
      <td style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  );
}

/** The row that was first is searched among this many. */
const mostNewRows = 2_000;

/**
 * Scrolls down by the height of the rows that were added at the top, unless the top is visible and
 * the pointer is elsewhere.
 */
function useStayingInPlace<T>(
  region: { readonly current: HTMLDivElement | null },
  { count, rowAt, keyOf }: Pick<VirtualTableProps<T>, 'count' | 'rowAt' | 'keyOf'>,
  onAdded: (rows: number) => void,
): void {
  const lastFirstKey = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const first = rowAt(0);
    const firstKey = first === undefined ? undefined : keyOf(first);
    const previousKey = lastFirstKey.current;
    lastFirstKey.current = firstKey;
    if (previousKey === undefined || previousKey === firstKey) return;
    const element = region.current;
    if (element === null || (element.scrollTop === 0 && !element.matches(':hover'))) return;
    for (let index = 1; index < Math.min(count, mostNewRows); index++) {
      const row = rowAt(index);
      if (row === undefined || keyOf(row) !== previousKey) continue;
      element.scrollTop += index * rowHeight;
      onAdded(index);
      return;
    }
  });
}

/** Follows the link of the clicked row, unless the click ends a selection of text. */
function followRow({ target }: MouseEvent): void {
  const isSelecting = getSelection()?.isCollapsed === false;
  if (isSelecting || (target as Element).closest('a') !== null) return;
  (target as Element).closest('tr')?.querySelector('a')?.click();
}

const rowSteps: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/**
 * Moves the focus between rows, for arrow keys, j and k. If no row has the focus, j and k begin at
 * the row whose detail is open, or at the first row. Ignores shortcuts of the browser such as
 * Ctrl+K.
 */
export function moveBetweenRows(event: KeyboardEvent): void {
  const step = rowSteps[event.key] ?? 0;
  if (step === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const isLetter = event.key.length === 1;
  const openRow = isLetter ? document.querySelector('.virtual .selected') : null;
  const row = (event.target as Element).closest('tr') ?? openRow;
  const nextRow = step === 1 ? row?.nextElementSibling : row?.previousElementSibling;
  const allRows = isLetter && row === null ? document.querySelector('.virtual tbody') : null;
  const link = (nextRow ?? allRows)?.querySelector<HTMLElement>('.row-link');
  if (!link) return;
  event.preventDefault();
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: 'nearest' });
}
