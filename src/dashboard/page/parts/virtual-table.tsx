/**
 * A table that renders only the visible rows, so that ten thousand rows are as fast as ten. Keeps
 * its position when rows are added above while it is scrolled or pointed at. A click anywhere in a row
 * follows its link.
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
  /** Also the argument of the address while the row's detail is shown. */
  readonly keyOf: (row: T) => string;
  /** Called when the last rows are about to become visible. */
  readonly onEnd?: () => unknown;
  /** Called with the visible rows. */
  readonly onSee?: (first: number, last: number) => void;
  /** What is below the table. */
  readonly children: ComponentChildren;
}

const rowHeight = 34;
const spareRows = 8;

export function VirtualTable<T>(props: VirtualTableProps<T>) {
  const { label, columns, count, rowAt, keyOf, onEnd, onSee } = props;
  const region = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);

  useMeasured(region, (element) => {
    height.value = element.clientHeight;
  });

  const isNew = useSignal(0);
  useStayingInPlace(region, count, rowAt, keyOf, (rows) => {
    isNew.value += rows;
  });

  const first = Math.max(0, Math.floor(top.value / rowHeight) - spareRows);
  const last = Math.min(count, Math.ceil((top.value + height.value) / rowHeight) + spareRows);
  useEffect(() => {
    onSee?.(first, last);
    if (last >= count - 50) onEnd?.();
  }, [first, last, count, onEnd, onSee]);

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
      {isNew.value > 0 && (
        <button
          type="button"
          class="button plain new-rows"
          onClick={() => region.current?.scrollTo({ top: 0 })}
        >
          {isNew.value.toLocaleString('en')} new
        </button>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: by the keyboard, the links in its rows are used. */}
      <section
        class="scroll"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        ref={region}
        onScroll={(event) => {
          top.value = event.currentTarget.scrollTop;
          if (top.value === 0) isNew.value = 0;
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
            <Space rows={first} />
            {rows}
            <Space rows={count - last} />
          </tbody>
        </table>
      </section>
      <p class="foot dim actions">{props.children}</p>
    </>
  );
}

/** One cell: a cell across all columns would bring back those that are hidden. */
function Space({ rows }: { readonly rows: number }) {
  if (rows <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row of air takes no focus.
    <tr aria-hidden="true" class="space">
      <td style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  );
}

const mostNewRows = 2_000;

/**
 * Scrolls by the height of the rows added above the first visible row, unless the top is visible and
 * the pointer is elsewhere.
 */
function useStayingInPlace<T>(
  region: { readonly current: HTMLDivElement | null },
  count: number,
  rowAt: (index: number) => T | undefined,
  keyOf: (row: T) => string,
  onAdded: (rows: number) => void,
): void {
  const firstKey = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const first = rowAt(0);
    const before = firstKey.current;
    firstKey.current = first === undefined ? undefined : keyOf(first);
    if (before === undefined || before === firstKey.current) return;
    const element = region.current;
    if (element === null || (element.scrollTop === 0 && !element.matches(':hover'))) return;
    for (let index = 1; index < Math.min(count, mostNewRows); index++) {
      const row = rowAt(index);
      if (row === undefined || keyOf(row) !== before) continue;
      element.scrollTop += index * rowHeight;
      onAdded(index);
      return;
    }
  });
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

/** A click that ends a selection of text follows nothing. */
function followRow({ target }: MouseEvent): void {
  const isSelecting = getSelection()?.isCollapsed === false;
  if (isSelecting || (target as Element).closest('a') !== null) return;
  (target as Element).closest('tr')?.querySelector('a')?.click();
}

/**
 * Arrow keys, j and k move the focus between rows. If no row has it, j and k begin at the row whose
 * detail is open, or at the first one. Shortcuts of the browser, such as Ctrl+K, stay its own.
 */
export function goAlongRows(event: KeyboardEvent): void {
  const step = steps[event.key] ?? 0;
  if (step === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const isLetter = event.key.length === 1;
  const open = isLetter ? document.querySelector('.virtual .selected') : null;
  const row = (event.target as Element).closest('tr') ?? open;
  const next = step === 1 ? row?.nextElementSibling : row?.previousElementSibling;
  const start = isLetter && row === null ? document.querySelector('.virtual tbody') : null;
  const link = (next ?? start)?.querySelector<HTMLElement>('.row-link');
  if (!link) return;
  event.preventDefault();
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: 'nearest' });
}
