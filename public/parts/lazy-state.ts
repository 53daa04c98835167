/** State of a lazily loaded view: created on first render and kept until the page is left. */
import type { App } from '../app.ts'

/** One instance per app, so that edits survive a switch to another view. */
export const lazyState = <T>(create: (app: App) => T): ((app: App) => T) => {
  const rooms = new WeakMap<App, { room: T }>()
  return app => {
    const kept = rooms.get(app) ?? { room: create(app) }
    rooms.set(app, kept)
    return kept.room
  }
}
