/** Positions in the event stream as texts: `<boot>-<n>`, the first of the process and the second of an event. */

export type Cursor = { boot: string; n: number }

/** Parses `<boot>-<n>`; undefined when it is malformed. */
export const parseCursor = (text: string | undefined): Cursor | undefined => {
  const match = /^([0-9a-f]{8})-(\d{1,15})$/.exec(text ?? '')
  return match ? { boot: match[1]!, n: Number(match[2]) } : undefined
}

/** A malformed cursor counts as one of another boot: it leads to a reset, not to missing events. */
export const toCursor = (text: string | undefined): Cursor | undefined =>
  text ? (parseCursor(text) ?? { boot: '', n: 0 }) : undefined

/** Parses `watch=<id>,<id>@<boot>-<n>` into one entry per id. Malformed ids are skipped. */
export const parseWatch = (text: string | undefined): Map<string, Cursor | undefined> => {
  const watch = new Map<string, Cursor | undefined>()
  for (const part of (text ?? '').split(',').slice(0, 64)) {
    const [id = '', at] = part.split('@')
    if (/^[0-9A-Za-z][0-9A-Za-z_-]{0,127}$/.test(id)) watch.set(id, toCursor(at))
  }
  return watch
}
