import type { ComponentChildren, RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface VirtualRowsProps {
  /** for screen readers */
  label: string;
  count: number;
  /** of most rows, in `rem`: a row whose text takes more lines is as tall as they are */
  rowRem: number;
  /** the same for the same thing, so that its row moves when its index changes */
  keyOf: (index: number) => string;
  render: (index: number) => ComponentChildren;
  /** Keeps the end in view, unless the reader scrolled away from it. */
  followsEnd?: boolean;
}

/** Above this number all remembered heights are dropped and measured again: most belong to rows that ended. */
const mostTaller = 1_000;

/**
 * A scrolling list of which only the visible rows are in the document. Rows are in normal flow, so that they cannot overlap;
 * padding above them stands for the rows that are not in the document.
 */
export function VirtualRows(props: VirtualRowsProps): VNode {
  const { label, count, rowRem, keyOf, render, followsEnd = false } = props;
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [view, setView] = useState(() => ({ top: 0, height: 600, remPx: remPx() }));
  const rowHeight = Math.round(rowRem * view.remPx);
  const taller = useTallerRows(ref, rowHeight);

  useEffect(() => {
    const list = ref.current;
    if (list === null) return;
    const look = () => {
      const { scrollTop, clientHeight, scrollHeight } = list;
      isAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
      setView({ top: scrollTop, height: clientHeight, remPx: remPx() });
    };
    list.addEventListener("scroll", look, { passive: true });
    // The root's font grows with the window and in projector mode, and so does the list.
    const size = new ResizeObserver(look);
    size.observe(list);
    return () => {
      list.removeEventListener("scroll", look);
      size.disconnect();
    };
  }, [rowHeight]);

  const heightOf = (index: number) =>
    taller.size === 0 ? rowHeight : (taller.get(keyOf(index)) ?? rowHeight);
  const range = visibleRange(count, heightOf, view.top, view.height);
  useEffect(() => {
    const list = ref.current;
    if (followsEnd && isAtEnd.current && list !== null) list.scrollTop = list.scrollHeight;
  }, [count, range.height, followsEnd]);

  const rows = [];
  for (let index = range.first; index < range.end; index++) {
    const key = keyOf(index);
    rows.push(
      <li
        key={key}
        data-key={key}
        style={{ minHeight: `${rowHeight}px` }}
        aria-setsize={count}
        aria-posinset={index + 1}
      >
        {render(index)}
      </li>,
    );
  }
  return (
    <div class="virtual" ref={ref} tabIndex={0} role="region" aria-label={label}>
      <ul style={{ minHeight: `${range.height}px`, paddingTop: `${range.aboveHeight}px` }}>
        {rows}
      </ul>
    </div>
  );
}

/** @returns heights of the rows in the document that have more lines than one, by key, measured after each drawing */
function useTallerRows(
  list: RefObject<HTMLDivElement | null>,
  rowHeight: number,
): ReadonlyMap<string, number> {
  const taller = useRef(new Map<string, number>()).current;
  const [, setMeasured] = useState(0);
  useLayoutEffect(() => {
    if (taller.size > mostTaller) taller.clear();
    let hasChanged = false;
    for (const row of list.current?.querySelectorAll<HTMLElement>("li[data-key]") ?? []) {
      const { key = "" } = row.dataset;
      const height = row.offsetHeight;
      // Less than a row: the list is not displayed.
      if (height < rowHeight || height === (taller.get(key) ?? rowHeight)) continue;
      if (height > rowHeight) taller.set(key, height);
      else taller.delete(key);
      hasChanged = true;
    }
    if (hasChanged) setMeasured((count) => count + 1);
  });
  return taller;
}

/** Size of the root's font, CSS px. */
function remPx(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
}

/** Which rows of a list are in the document, and where. All sizes in CSS px. */
export interface VisibleRange {
  first: number;
  /** the one after the last */
  end: number;
  /** of the rows before `first` */
  aboveHeight: number;
  /** of the whole list */
  height: number;
}

/** Rows beyond each edge, so that scrolling by a little shows no gap. */
const overscan = 4;

/** The rows of a list that its window shows. @param heightOf - of a row, more than 0 */
export function visibleRange(
  count: number,
  heightOf: (index: number) => number,
  scrollTop: number,
  windowHeight: number,
): VisibleRange {
  let first = 0;
  let end = 0;
  let height = 0;
  for (let index = 0; index < count; index++) {
    if (height < scrollTop + windowHeight) end = index + 1;
    height += heightOf(index);
    if (height <= scrollTop) first = index + 1;
  }
  first = Math.max(0, first - overscan);
  let aboveHeight = 0;
  for (let index = 0; index < first; index++) aboveHeight += heightOf(index);
  return { first, end: Math.min(count, end + overscan), aboveHeight, height };
}
