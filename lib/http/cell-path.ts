/** `/cells/NAME/…`: where a forwarder shows one of several cells of a person. */

/** In front of the names. No page of the service has such a path. */
export const CELLS = '/cells'

/** In a base path only plain segments are allowed, and no name of a cell has a tilde. */
export const pathOfCell = (cell: string): string => `${CELLS}/${cell.replaceAll('@', '~')}`

/** The cell that a path is for, and how much of it names the cell; null for any other path. */
export const cellOfPath = (path: string): { cell: string; length: number } | null => {
  const [prefix = '', segment = ''] =
    /^\/cells\/([0-9A-Za-z][0-9A-Za-z._~-]*)(?=[/?]|$)/.exec(path) ?? []
  return prefix === '' ? null : { cell: segment.replaceAll('~', '@'), length: prefix.length }
}
