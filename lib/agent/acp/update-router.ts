/** Routes an agent's updates to its sessions; queues those that arrive before their session is registered. */
import { applyUpdate, type Session } from './session.ts'

/** How many updates are queued; more are dropped. */
const MAX_EARLY = 500

export const createUpdateRouter = (log: (line: string) => void) => {
  /** All open sessions, oldest first. */
  const opened: Session[] = []

  const find = (id: string): Session | undefined =>
    opened.findLast(session => session.id === id) ??
    opened.findLast(session => session.aliases.has(id))

  /** An unknown id while exactly one turn runs means that the agent has changed that session's id. */
  const findOrAlias = (id: string): Session | undefined => {
    const found = find(id)
    if (found) return found
    const busy = opened.filter(session => session.turn !== null)
    const [only] = busy
    if (!only || busy.length > 1) return undefined
    only.aliases.add(only.id)
    only.id = id
    return only
  }

  /** Updates of sessions that are being opened, in order of arrival. */
  const early: { id: string; update: unknown }[] = []
  let openings = 0

  const route = (id: string, update: unknown): void => {
    const isNew = openings > 0 && !find(id)
    if (isNew && early.length < MAX_EARLY) {
      early.push({ id, update })
      return
    }
    const session = isNew ? undefined : findOrAlias(id)
    if (!session) log('update of an unknown session')
    else if (!applyUpdate(session, update)) log('unreadable update')
    session?.turn?.noteActivity()
  }

  const routeEarly = (fits: (id: string) => boolean): void => {
    const due = early.filter(({ id }) => fits(id))
    early.splice(0, early.length, ...early.filter(({ id }) => !fits(id)))
    for (const { id, update } of due) route(id, update)
  }

  return {
    opened,
    findOrAlias,
    route,
    /** Adds a session and applies the updates that arrived before. */
    register(session: Session): void {
      opened.push(session)
      routeEarly(id => id === session.id)
    },
    /** Queues updates of unknown sessions until `work` settles. */
    async whileOpening<T>(work: () => Promise<T>): Promise<T> {
      openings++
      try {
        return await work()
      } finally {
        openings--
        if (openings === 0) routeEarly(() => true)
      }
    },
  }
}
