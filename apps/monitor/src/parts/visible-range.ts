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
