/** State of a lazily loaded view: created on first render and kept until the page is left. */
import type { App } from '../app.ts'

/** One instance per app, so that edits survive a switch to another view. */
export const lazyState = <T>(create: (app: App) => T): ((app: App) => T) => {
  const states = new WeakMap<App, { state: T }>()
  return app => {
    const entry = states.get(app) ?? { state: create(app) }
    states.set(app, entry)
    return entry.state
  }
}
