import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { visibleRange } from "./visible-range.ts";

export interface VirtualRowsProps {
  /** for screen readers */
  label: string;
  count: number;
  /** CSS px */
  rowHeight: number;
  /** the same for the same thing, so that its row moves when its index changes */
  keyOf: (index: number) => string;
  render: (index: number) => ComponentChildren;
  /** Keeps the end in view, unless the reader scrolled away from it. */
  followsEnd?: boolean;
}

/** A scrolling list of which only the visible rows are in the document. */
export function VirtualRows(props: VirtualRowsProps): VNode {
  const { label, count, rowHeight, keyOf, render, followsEnd = false } = props;
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 600 });

  useEffect(() => {
    const list = ref.current;
    if (list === null) return;
    const look = () => {
      const { scrollTop, clientHeight, scrollHeight } = list;
      isAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
      setView({ top: scrollTop, height: clientHeight });
    };
    list.addEventListener("scroll", look, { passive: true });
    const size = new ResizeObserver(look);
    size.observe(list);
    return () => {
      list.removeEventListener("scroll", look);
      size.disconnect();
    };
  }, [rowHeight]);

  useEffect(() => {
    const list = ref.current;
    if (followsEnd && isAtEnd.current && list !== null) list.scrollTop = list.scrollHeight;
  }, [count, followsEnd, rowHeight]);

  const { first, end } = visibleRange(count, rowHeight, view.top, view.height);
  const rows = [];
  for (let index = first; index < end; index++) {
    const style = { transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` };
    rows.push(
      <li
        key={keyOf(index)}
        class="virtual-row"
        style={style}
        aria-setsize={count}
        aria-posinset={index + 1}
      >
        {render(index)}
      </li>,
    );
  }
  return (
    <div class="virtual" ref={ref} tabIndex={0} role="region" aria-label={label}>
      <ul style={{ height: `${count * rowHeight}px` }}>{rows}</ul>
    </div>
  );
}
