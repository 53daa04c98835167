/** State of a lazily loaded view: created on first render and kept until the page is left. */
import type { App } from '../app.ts'

/** One instance per chat on the page, or for all of them if `isShared`, so that edits survive a switch to another view. */
export const lazyState = <T>(
  create: (app: App) => T,
  { isShared = false } = {},
): ((app: App) => T) => {
  const states = new WeakMap<object, { state: T }>()
  return app => {
    const key = isShared ? app.shell.platform : app
    const entry = states.get(key) ?? { state: create(app) }
    states.set(key, entry)
    return entry.state
  }
}
