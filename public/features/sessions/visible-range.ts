/** Visible range of a virtualized list whose item heights are known. */

/** Offset of each item, plus the total height as the last entry. */
export const toOffsets = (heights: readonly number[]): number[] => {
  const offsets = [0]
  for (const height of heights) offsets.push(offsets.at(-1)! + height)
  return offsets
}

/** Index of the item at offset `y`. */
const indexAt = (offsets: readonly number[], y: number): number => {
  let [low, high] = [0, Math.max(0, offsets.length - 2)]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (offsets[middle]! <= y) low = middle
    else high = middle - 1
  }
  return low
}

/** First and one past the last item to draw, with some overscan the edges so that scrolling shows no gaps. */
export const visibleRange = (
  offsets: readonly number[],
  { top, height, overscan }: { top: number; height: number; overscan: number },
): { from: number; to: number } => {
  const count = offsets.length - 1
  if (count === 0) return { from: 0, to: 0 }
  return {
    from: indexAt(offsets, Math.max(0, top - overscan)),
    to: Math.min(count, indexAt(offsets, top + height + overscan) + 1),
  }
}
