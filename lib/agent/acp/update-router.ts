/** Routes an agent's updates to its sessions; queues those that arrive before their session is registered. */
import type { Session } from './session.ts'
import { Notification } from './updates.ts'

/** How many updates are queued; more are dropped. */
const MAX_EARLY = 500

export class UpdateRouter {
  /** All open sessions, oldest first. */
  readonly opened: Session[] = []
  readonly #log: (line: string) => void
  /** Updates of sessions that are being opened, in order of arrival. */
  readonly #early: { id: string; update: unknown }[] = []
  #openings = 0

  constructor(log: (line: string) => void) {
    this.#log = log
  }

  /** Throws if the session is unknown. */
  require(id: string): Session {
    const session = this.#findOrAlias(id)
    if (!session) throw new Error(`There is no session ${id}.`)
    return session
  }

  /** Takes the parameters of a `session/update`. */
  route(params: unknown): void {
    const parsed = Notification.safeParse(params)
    if (parsed.success) this.#route(parsed.data.sessionId, parsed.data.update)
    else this.#log('unreadable update')
  }

  /** Adds a session and applies the updates that arrived before. */
  register(session: Session): void {
    this.opened.push(session)
    this.#routeEarly(id => id === session.id)
  }

  /** Queues updates of unknown sessions until `work` settles. */
  async whileOpening<T>(work: () => Promise<T>): Promise<T> {
    this.#openings++
    try {
      return await work()
    } finally {
      this.#openings--
      if (this.#openings === 0) this.#routeEarly(() => true)
    }
  }

  #find(id: string): Session | undefined {
    return (
      this.opened.findLast(session => session.id === id) ??
      this.opened.findLast(session => session.aliases.has(id))
    )
  }

  /** An unknown id while exactly one turn runs means that the agent has changed that session's id. */
  #findOrAlias(id: string): Session | undefined {
    const match = this.#find(id)
    if (match) return match
    const [only, ...others] = this.opened.filter(session => session.turn !== null)
    if (!only || others.length > 0) return undefined
    only.aliases.add(only.id)
    only.id = id
    return only
  }

  #route(id: string, update: unknown): void {
    const isNew = this.#openings > 0 && !this.#find(id)
    if (isNew && this.#early.length < MAX_EARLY) {
      this.#early.push({ id, update })
      return
    }
    const session = isNew ? undefined : this.#findOrAlias(id)
    if (!session) this.#log('update of an unknown session')
    else if (!session.applyUpdate(update)) this.#log('unreadable update')
    session?.turn?.noteActivity()
  }

  #routeEarly(fits: (id: string) => boolean): void {
    const due = this.#early.filter(({ id }) => fits(id))
    this.#early.splice(0, this.#early.length, ...this.#early.filter(({ id }) => !fits(id)))
    for (const { id, update } of due) this.#route(id, update)
  }
}
