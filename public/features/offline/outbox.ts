/**
 * Messages that could not be sent: kept in this browser, and sent in order when the server can be reached again.
 *
 * Each has an id that the server knows after the first time, so a message whose reply was lost is not sent twice.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import { ApiError, type ApiCall, isUnreachable, SEND_MS } from '../../api.ts'
import type { Choice } from '../chat/session-choices.ts'
import type { Sending } from './sending.ts'

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

export type Kept = {
  /** The client's id of the message. */
  id: string
  /** Of the page that it was written in: it is shown and sent for this person only. Absent in messages of an earlier version, which knew one person. */
  account?: string
  /** Null until the chat was created. */
  session_id: string | null
  /** Messages with the same one belong to the same new chat. */
  chat: string
  choice: Choice
  /** Where a new chat is created. */
  place?: Place
  text: string
  files: readonly string[]
  /** Milliseconds since 1970, later than that of the message before. */
  at: number
  /** Why the server rejected it; it then waits for the person, and so do the messages behind it. */
  error?: string
}

/** In the list of the page. */
export type Waiting = Kept & {
  /** Why it is sent later, if not because of the network. Not stored. */
  reason?: string
}

export type Place = { profile: string; project: string }

/** A message, before it is known whether it has to wait. */
export type Unsent = Pick<Kept, 'id' | 'session_id' | 'choice' | 'text' | 'files'>

/** Where they are stored, for all people of the browser. */
export type KeptStore = {
  load: () => Promise<Kept[]>
  put: (message: Kept) => Promise<void>
  remove: (id: string) => Promise<void>
}

export type OutboxOptions = {
  api: ApiCall
  store: KeptStore
  sending: Sending
  /** The list in the store has changed; other tabs read it again. */
  onChange: () => void
  onKept: () => void
  /** A new chat was created for messages that were written without one. */
  onCreated: (chat: string, sessionId: string) => void
}

export type Outbox = {
  list: ReadonlySignal<readonly Waiting[]>
  /** Those of a chat; of null, those of chats that do not exist yet. */
  of: (sessionId: string | null) => readonly Waiting[]
  keep: (message: Unsent) => Promise<boolean>
  /** Takes over the messages of pages that were closed while sending; waits for those of pages that are open. */
  takeOver: () => Promise<void>
  /** False when it has just been sent: then there is nothing to remove. */
  remove: (id: string) => Promise<boolean>
  /** Sends a message that was rejected once more. */
  retry: (id: string) => Promise<void>
  /** Sends what it can, in order. False when something has to be sent later. */
  flush: () => Promise<boolean>
  /** Reads the list again, after another tab has changed it. */
  reload: () => Promise<void>
  /** Removes all messages of this person, who signs out. */
  clear: () => Promise<void>
}

/** Not because of the message: the same one may be accepted later. */
const isTemporary = (error: unknown): boolean =>
  !(error instanceof ApiError) ||
  isUnreachable(error) ||
  error.status === 429 ||
  error.status >= 500 ||
  ['queue_full', 'other_account', 'sign_in_required'].includes(error.code ?? '')

const isBusy = (error: unknown): boolean =>
  error instanceof ApiError && /^session_(busy|compacting)$/.test(error.code ?? '')

const chatOf = (message: Kept): string => message.session_id ?? message.chat

/** Whether one that was written before in the same chat is being sent, by this page or another one. */
const isBehind = (message: Kept, inFlight: readonly Kept[]): boolean =>
  inFlight.some(other => chatOf(other) === chatOf(message) && other.at < message.at)

export const createOutbox = (options: OutboxOptions): Outbox => {
  const { api, store, sending, onChange } = options
  const { account, chat, inFlight, newId, exclusively } = sending
  const list = signal<readonly Waiting[]>([])
  const reasons = new Map<string, string>()

  const load = async (): Promise<Kept[]> =>
    (await store.load())
      .filter(each => (each.account ?? account) === account)
      .sort((a, b) => a.at - b.at)

  const reload = async (): Promise<void> => {
    list.value = (await load()).map(each => {
      const reason = reasons.get(each.id)
      return reason === undefined ? each : { ...each, reason }
    })
    // After a reload, what is written belongs to the chat that was begun before.
    chat.value ||= list.value.findLast(each => each.session_id === null)?.chat ?? newId()
  }
  const changed = async (): Promise<void> => {
    await reload()
    onChange()
  }

  /** The session of a message; created once for all messages of a new chat. */
  const sessionOf = async (message: Kept): Promise<string> => {
    if (message.session_id) return message.session_id
    const { model, workspace, personality } = message.choice
    const { profile, project } = message.place ?? {}
    const { session } = await api(
      'POST /api/session/new',
      {
        ...(model ? { model } : {}),
        ...(workspace ? { workspace } : {}),
        ...(profile ? { profile } : {}),
      },
      { key: `new-${message.id}` },
    )
    const id = session.session_id
    for (const each of await load())
      if (each.chat === message.chat && !each.session_id)
        await store.put({ ...each, session_id: id })
    if (project) await api('POST /api/session/move', { session_id: id, project_id: project })
    if (personality) await api('POST /api/personality/set', { session_id: id, name: personality })
    options.onCreated(message.chat, id)
    return id
  }

  const send = async (message: Kept): Promise<void> => {
    const input = {
      session_id: await sessionOf(message),
      message: message.text,
      client_message_id: message.id,
      ...(message.files.length > 0 && { attachments: [...message.files] }),
    }
    try {
      await api('POST /api/chat/start', input, {
        signal: AbortSignal.timeout(SEND_MS),
        key: message.id,
      })
    } catch (error) {
      if (!isBusy(error)) throw error
      // A turn is running there: the server sends it afterwards.
      await api('POST /api/queue/add', input, {
        signal: AbortSignal.timeout(SEND_MS),
        key: `queue-${message.id}`,
      })
    }
  }

  /** Unless it has been removed, here or in another tab. */
  const sendOne = (id: string): Promise<void> =>
    exclusively(id, async () => {
      const message = (await load()).find(each => each.id === id)
      if (!message) return
      await send(message)
      await store.remove(id)
    })

  const sendAll = async (): Promise<boolean> => {
    // A message that cannot be sent holds back those behind it in the same chat, so that they stay in order.
    const held = new Set<string>()
    let isAll = true
    while (true) {
      const next = (await load()).find(each => !held.has(chatOf(each)))
      if (!next) return isAll
      if (isBehind(next, inFlight.list())) {
        held.add(chatOf(next))
        isAll = false
        continue
      }
      if (next.error) {
        held.add(chatOf(next))
        continue
      }
      try {
        await sendOne(next.id)
      } catch (error) {
        if (isUnreachable(error)) return false
        // Its chat may have been created before the error.
        const now = (await load()).find(each => each.id === next.id) ?? next
        held.add(chatOf(next)).add(chatOf(now))
        if (isTemporary(error)) {
          isAll = false
          reasons.set(next.id, messageOf(error))
        } else await store.put({ ...now, error: messageOf(error) })
      }
      await changed()
    }
  }

  const takeOverOne = (id: string): Promise<void> =>
    // The page that sends it has the lock until it is done or closed.
    exclusively(id, async () => {
      const message = inFlight.list().find(each => each.id === id)
      if (!message) return
      const isKept = (await load()).some(each => each.id === id)
      if (!isKept) await store.put(message)
      inFlight.remove(id)
      await changed()
      options.onKept()
    })

  const flush = async (): Promise<boolean> => {
    await reload()
    return list.value.length === 0 || exclusively('', sendAll)
  }

  return {
    list,
    of: sessionId => list.value.filter(each => each.session_id === sessionId),
    async keep(message) {
      try {
        await store.put(sending.toKept(message, list.value.at(-1)?.at))
        await changed()
        options.onKept()
        return true
      } catch {
        // No storage, as in some private windows: the text goes back into the composer.
        return false
      }
    },
    async takeOver() {
      await Promise.all(inFlight.list().map(({ id }) => takeOverOne(id)))
    },
    remove: id =>
      exclusively(id, async () => {
        const isThere = (await load()).some(each => each.id === id)
        if (isThere) await store.remove(id)
        await changed()
        return isThere
      }),
    async retry(id) {
      await exclusively(id, async () => {
        const found = (await load()).find(each => each.id === id)
        if (!found) return
        const { error: _, ...message } = found
        await store.put(message)
      })
      await flush()
    },
    flush,
    reload,
    async clear() {
      for (const { id } of inFlight.list()) inFlight.remove(id)
      for (const { id } of await load()) await store.remove(id)
    },
  }
}
