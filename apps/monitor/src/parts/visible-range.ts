/** Rows `first` to before `end`. */
export interface VisibleRange {
  first: number;
  end: number;
}

/** Rows beyond each edge, so that scrolling by a little shows no gap. */
const overscan = 4;

/** The rows of a list that its window shows. All sizes in CSS px. */
export function visibleRange(
  count: number,
  rowHeight: number,
  scrollTop: number,
  windowHeight: number,
): VisibleRange {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight) - overscan;
  const end = Math.ceil((Math.max(0, scrollTop) + windowHeight) / rowHeight) + overscan;
  return {
    first: Math.min(Math.max(0, first), count),
    end: Math.min(Math.max(0, end), count),
  };
}
