/** The rows of a long list that are in the document: those in view and some more. Pure. */

/** Rows `from` ≤ index < `to`. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

/** Rows above and below the view, so that scrolling shows no gap before the next picture. */
export const OVERSCAN = 8;

/** The rows to draw of `count` rows, each `row_px` high, with `view_px` in view from `top_px` on. */
export function rowsInView(top_px: number, view_px: number, row_px: number, count: number): RowRange {
  const from = Math.min(Math.max(0, Math.floor(top_px / row_px) - OVERSCAN), count);
  const to = Math.min(Math.max(0, Math.ceil((top_px + view_px) / row_px) + OVERSCAN), count);
  return { from, to };
}

/** The index to which a key moves from `index` in a list of `count` rows of which `page` are in view; `undefined` for other keys. */
export function moveByKey(key: string, index: number, count: number, page: number): number | undefined {
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
  const step = steps[key];
  return step === undefined || count === 0 ? undefined : Math.min(count - 1, Math.max(0, index + step));
}

/** The scroll position nearest to `top_px` at which a row is wholly in view. */
export function scrollToRow(index: number, top_px: number, view_px: number, row_px: number): number {
  return Math.max((index + 1) * row_px - view_px, Math.min(index * row_px, top_px));
}
