/** Reports of our own writes to files, in the tick in which they happen. Costs a comparison where nothing listens. */
type Listener = (path: string) => void

const listeners = new Set<Listener>()

/** Something at or below this path was written, renamed, or removed. */
export const reportWrite = (path: string): void => {
  if (listeners.size === 0) return
  for (const listener of listeners) listener(path)
}

/** Calls `listener` for every write until the returned function is called. It must not throw. */
export const onWrite = (listener: Listener): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
