/** The state of a view that loads late: built when the view is first drawn, and kept while the page lives. */
import type { App } from '../app.ts'

/** One for each page, so that what is being edited survives a look at another view. */
export const lazyState = <T>(create: (app: App) => T): ((app: App) => T) => {
  const rooms = new WeakMap<App, { room: T }>()
  return app => {
    const kept = rooms.get(app) ?? { room: create(app) }
    rooms.set(app, kept)
    return kept.room
  }
}
